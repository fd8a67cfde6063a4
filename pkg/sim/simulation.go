package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/yaml"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/loopback"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Simulation is the set of running vCenters of one topology. Create one with [New].
type Simulation struct {
	topology atomic.Pointer[topology.Topology] // replaced by SetTopology
	ca       *cert.CA
	vcenters []*VCenter
	note     string
	temp     string // a temporary directory, removed by Close
}

// New builds the topology and serves its vCenters until [Simulation.Close]; ctx only bounds the start. When it returns, every
// vCenter answers. After an error only files in Options.Dir are left.
func New(ctx context.Context, opts Options) (_ *Simulation, err error) {
	if err := opts.check(); err != nil {
		return nil, err
	}
	s := &Simulation{}
	s.topology.Store(opts.Topology)
	if s.temp, err = opts.setDefaults(); err != nil {
		return nil, err
	}
	s.ca = opts.CA
	specs := opts.Topology.Spec.VCenters
	listeners := opts.Listeners
	if listeners == nil {
		if listeners, s.note, err = loopback.Listen(ctx, loopback.Place{Addresses: opts.Addresses, Reserved: opts.Reserved, Port: opts.Port}, len(specs)); err != nil {
			return nil, errors.Join(fmt.Errorf("simulation: %w", err), s.removeTemp())
		}
	}
	defer func() {
		if err != nil {
			loopback.Close(listeners)
			err = errors.Join(err, s.Close(context.WithoutCancel(ctx)))
		}
	}()

	// Sequentially, because vcsim fills in defaults that all vCenters of a process share.
	for i, spec := range specs {
		v, err := newVCenter(spec, listeners[i].Addr(), opts.saved(i), opts)
		if err != nil {
			return nil, fmt.Errorf("vcenter %q: %w", spec.Name, err)
		}
		s.vcenters = append(s.vcenters, v)
	}
	built, err := s.build(ctx, opts)
	if err != nil {
		return nil, err
	}
	for i, v := range s.vcenters {
		if err := v.extend(ctx, &opts.Vcsim); err != nil {
			return nil, fmt.Errorf("vcenter %q: %w", v.Name(), err)
		}
		if err := v.correct(built[i], opts); err != nil {
			return nil, fmt.Errorf("vcenter %q: %w", v.Name(), err)
		}
	}
	if err := s.serve(ctx, listeners); err != nil {
		return nil, err
	}
	return s, nil
}

// build builds the inventories concurrently.
func (s *Simulation) build(ctx context.Context, opts Options) ([]*inventory.Built, error) {
	built := make([]*inventory.Built, len(s.vcenters))
	g, ctx := errgroup.WithContext(ctx)
	for i, v := range s.vcenters {
		g.Go(func() error {
			var err error
			dir := filepath.Join(opts.Dir, fmt.Sprintf("vcenter-%d", i+1))
			globals.RLock()
			defer globals.RUnlock()
			if saved := opts.saved(i); saved != nil {
				built[i], err = v.restore(ctx, dir, saved)
			} else {
				built[i], err = v.build(ctx, dir, &opts.Topology.Spec)
			}
			if err != nil {
				return fmt.Errorf("vcenter %q: %w", v.Name(), err)
			}
			return nil
		})
	}
	return built, g.Wait()
}

// serve passes each listener to its gate.
func (s *Simulation) serve(ctx context.Context, listeners []*net.TCPListener) error {
	for i, v := range s.vcenters {
		if err := v.serve(ctx, listeners[i]); err != nil {
			return fmt.Errorf("vcenter %q: %w", v.Name(), err)
		}
	}
	return nil
}

// VCenters returns the vCenters in the order of the topology.
func (s *Simulation) VCenters() []*VCenter { return append([]*VCenter(nil), s.vcenters...) }

// VCenter returns the vCenter with that name.
func (s *Simulation) VCenter(name string) (*VCenter, bool) {
	for _, v := range s.vcenters {
		if v.Name() == name {
			return v, true
		}
	}
	return nil, false
}

// Listeners returns the listeners of the vCenters once more, for the simulation that takes this one's place: see [Options].Listeners.
// The caller closes them.
func (s *Simulation) Listeners() (all []*net.TCPListener, err error) {
	for _, v := range s.vcenters {
		l, err := v.gate.Duplicate()
		if err != nil {
			loopback.Close(all)
			return nil, fmt.Errorf("vcenter %q: %w", v.Name(), err)
		}
		all = append(all, l)
	}
	return all, nil
}

// Note returns a message about the chosen addresses for the user; usually it is empty.
func (s *Simulation) Note() string { return s.note }

// CA returns the certificate (PEM) of the authority that signed all vCenters' certificates.
func (s *Simulation) CA() []byte { return s.ca.Cert }

// Close stops every vCenter: it cuts connections, ends long polls and stops guests. It waits for calls in progress until ctx
// ends. Files in a given Options.Dir stay. Closing again is harmless.
func (s *Simulation) Close(ctx context.Context) error {
	var all []error
	for _, v := range s.vcenters {
		if err := v.close(ctx); err != nil {
			all = append(all, fmt.Errorf("vcenter %q: %w", v.Name(), err))
		}
	}
	return errors.Join(append(all, s.removeTemp())...)
}

func (s *Simulation) removeTemp() error {
	if s.temp == "" {
		return nil
	}
	return os.RemoveAll(s.temp)
}

// globals guards vcsim's process-wide state: creating a service writes it (the evaluation license, the names of default storage
// policies), and building an inventory reads it. Tests of one process start simulations concurrently.
var globals sync.RWMutex

// CaptureLog redirects the standard logger of package log to logger, at debug level: vcsim writes to it ("managed object not
// found", "does not implement"), which would disturb terminal output. It affects the whole process, so only its owner may call
// it, once. restore reverts it.
func CaptureLog(logger *slog.Logger) (restore func()) {
	out, flags, prefix := log.Writer(), log.Flags(), log.Prefix()
	log.SetOutput(lines{logger})
	log.SetFlags(0)
	log.SetPrefix("")
	return func() {
		log.SetOutput(out)
		log.SetFlags(flags)
		log.SetPrefix(prefix)
	}
}

// lines writes one record for each line; package log writes whole lines.
type lines struct{ logger *slog.Logger }

func (l lines) Write(p []byte) (int, error) {
	l.logger.Debug("simulator", "line", string(bytes.TrimRight(p, "\n")))
	return len(p), nil
}

// CloudConfig configures [Simulation.CloudConfig].
type CloudConfig struct {
	// CAFile is the path at which the clients find [Simulation.CA].
	CAFile string
	// SecretName and SecretNamespace identify the Secret with the credentials. Without them the configuration contains users and
	// passwords.
	SecretName, SecretNamespace string
	// Reach returns the address at which the clients reach a vCenter, by its name. Default: the address on which it listens.
	Reach func(vcenter string) (host string, port int)
}

// CloudConfig renders vsphere.conf, in the YAML of the upstream cloud provider, for all vCenters and datacenters. It sets the
// labels for region and zone if the topology has them: with labels, a node whose VM has no tags is never initialized, here and
// upstream.
func (s *Simulation) CloudConfig(c CloudConfig) ([]byte, error) {
	global := map[string]any{"insecureFlag": false, "caFile": c.CAFile}
	if c.SecretName != "" {
		global["secretName"], global["secretNamespace"] = c.SecretName, c.SecretNamespace
	}
	tenants, top := map[string]any{}, s.Topology()
	for i, v := range s.vcenters {
		datacenters := top.Spec.VCenters[i].Datacenters
		dcs := make([]string, len(datacenters))
		for i := range datacenters {
			dcs[i] = datacenters[i].InventoryPath()
		}
		host, port := v.Host(), v.Port()
		if c.Reach != nil {
			host, port = c.Reach(v.Name())
		}
		tenant := map[string]any{"server": host, "port": port, "datacenters": dcs}
		if c.SecretName == "" {
			tenant["user"], tenant["password"] = v.User(), v.Password()
		}
		tenants[v.Name()] = tenant
	}
	conf := map[string]any{"global": global, "vcenter": tenants}
	if top.Zoned() {
		categories := top.Spec.Categories
		conf["labels"] = map[string]any{"region": categories.Region, "zone": categories.Zone}
	}
	return yaml.Marshal(conf)
}

// Rack sets the hardware of a topology: hosts that clients add get its sizes, and see its datastores as disks and exports.
// vCenters that are not in the topology do not change.
func (s *Simulation) Rack(t *topology.Topology) {
	for _, v := range s.vcenters {
		for i := range t.Spec.VCenters {
			if t.Spec.VCenters[i].Name == v.Name() {
				v.joining.Rack(&t.Spec.VCenters[i])
			}
		}
	}
}

// Topology returns the topology of the inventories, as last set.
func (s *Simulation) Topology() *topology.Topology { return s.topology.Load() }

// SetTopology records that the inventories have the state of another topology with the same vCenters, as after pkg/sim/apply. It
// only affects [Simulation.CloudConfig].
func (s *Simulation) SetTopology(t *topology.Topology) error {
	sorted := *t
	sorted.Spec.VCenters = nil
	for _, v := range s.vcenters {
		i := slices.IndexFunc(t.Spec.VCenters, func(spec topology.VCenter) bool { return spec.Name == v.Name() })
		if i < 0 {
			return fmt.Errorf("vcenter %q: not in the topology", v.Name())
		}
		sorted.Spec.VCenters = append(sorted.Spec.VCenters, t.Spec.VCenters[i])
	}
	s.topology.Store(&sorted)
	return nil
}

// CSIConfig configures [Simulation.CSIConfig].
type CSIConfig struct {
	// ClusterID distinguishes the cluster's volumes from those of other clusters.
	ClusterID string
	// CAFile is the path at which the driver finds [Simulation.CA].
	CAFile string
	// Reach returns the address at which the driver reaches a vCenter, by its name. Default: the address on which it listens.
	Reach func(vcenter string) (host string, port int)
	// Login returns user and password, by the vCenter's name. Default: the administrator's.
	Login func(vcenter string) (user, password string)
}

// CSIConfig renders csi-vsphere.conf, in the INI format of upstream's CSI driver, for all vCenters and datacenters. If nodes have
// regions and zones, their tag categories are the driver's topology.
func (s *Simulation) CSIConfig(c CSIConfig) []byte {
	var b bytes.Buffer
	top := s.Topology()
	fmt.Fprintf(&b, "[Global]\ncluster-id = %q\ncluster-distribution = \"vsphere-sandbox\"\nca-file = %q\n", c.ClusterID, c.CAFile)
	for i, v := range s.vcenters {
		var datacenters []string
		for _, dc := range top.Spec.VCenters[i].Datacenters {
			datacenters = append(datacenters, dc.InventoryPath())
		}
		host, port := v.Host(), v.Port()
		if c.Reach != nil {
			host, port = c.Reach(v.Name())
		}
		user, password := v.User(), v.Password()
		if c.Login != nil {
			user, password = c.Login(v.Name())
		}
		fmt.Fprintf(&b, "\n[VirtualCenter %q]\ninsecure-flag = \"false\"\nuser = %q\npassword = %q\nport = \"%d\"\ndatacenters = %q\n",
			host, user, password, port, strings.Join(datacenters, ", "))
	}
	if top.Zoned() {
		fmt.Fprintf(&b, "\n[Labels]\ntopology-categories = %q\n", top.Spec.Categories.Region+", "+top.Spec.Categories.Zone)
	}
	return b.Bytes()
}
