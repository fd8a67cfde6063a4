package sim

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/console"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/corrections"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/guest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/host"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/property"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/react"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/stock"
)

// VCenter is one running vCenter. Its methods are safe for concurrent use.
type VCenter struct {
	spec   topology.VCenter
	addr   *net.TCPAddr
	events *event.Log
	logger *slog.Logger

	pair        *cert.Pair
	authority   *cert.CA // the signer
	leaf        cert.Leaf
	service     *service
	collectors  *property.Service
	corrections *corrections.Corrections
	guests      *guest.Guests
	hosts       *host.Hosts
	reactions   *react.Reactions
	joining     *inventory.HostAdder
	gate        *gate.Gate
	console     *console.Console
	vcsim       Vcsim
	tunnel      *http.Server
	closing     chan struct{}  // closed when the vCenter must end
	failing     sync.WaitGroup // tasks that fail or end late
	slow        slowness
	contents    string // the directory of the contents of its disks
	widened     widened
	once        sync.Once
}

// newVCenter creates an empty vCenter for the address addr.
func newVCenter(spec topology.VCenter, addr net.Addr, saved *Saved, opts Options) (*VCenter, error) {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return nil, fmt.Errorf("listens on a %s address", addr.Network())
	}
	v := &VCenter{
		spec: saved.spec(spec), addr: tcp, events: opts.Events, contents: filepath.Join(VolumesDir(opts.Dir), url.PathEscape(spec.Name)), logger: opts.Logger.With("vcenter", spec.Name), closing: make(chan struct{}),
		vcsim: opts.Vcsim,
	}
	var err error
	v.authority = opts.CA
	v.leaf = opts.leaf(spec.Name, tcp.IP)
	v.pair, err = opts.CA.Sign(v.leaf)
	if err != nil {
		return nil, err
	}
	certificate := v.pair.TLS()
	if opts.Vcsim.Certificate != nil {
		certificate = *opts.Vcsim.Certificate
	}
	v.service, err = newService(parts{
		spec: &v.spec, stock: opts.Topology.Spec.Stock, host: tcp.String(), dir: opts.Dir, certificate: certificate,
		saved: saved, login: opts.Login, events: opts.Events, onEnd: v.sessionEnded, onChange: v.permissionsChanged,
		seed: opts.Topology.Spec.Seed, contents: v.contents, cause: v.causeOf,
		guests: opts.guests(spec.Name), vcsim: &v.vcsim, onPassword: opts.OnPassword, onSession: opts.OnSession,
	})
	return v, err
}

// build fills the inventory.
func (v *VCenter) build(ctx context.Context, dir string, spec *topology.Spec) (*inventory.Built, error) {
	built, err := inventory.Make(ctx, inventory.Target{
		Context:  v.service.ctx,
		Tagger:   v.service.rest,
		Policies: v.service.policies,
		Dir:      dir,
	}, &v.spec, spec)
	if err != nil {
		return nil, err
	}
	return built, v.grant(built)
}

// grant sets the permissions of the inventory.
func (v *VCenter) grant(built *inventory.Built) error {
	for _, g := range built.Grants {
		if err := v.service.access.Grant(g.On, g.Permissions); err != nil {
			return err
		}
	}
	return nil
}

// correct installs the corrections, and starts the guests.
func (v *VCenter) correct(built *inventory.Built, opts Options) (err error) {
	ctx, off := v.service.ctx, opts.Topology.Spec.Stock
	if !off.Has(stock.PropertyCollector) {
		v.collectors, err = property.Install(ctx, property.Options{
			Visible: v.service.access.Visible, Readable: v.service.access.Readable, Shown: inventory.Shown,
		})
		if err != nil {
			return err
		}
	}
	v.corrections = corrections.Install(ctx, corrections.Options{
		Stock: off, Visible: v.service.access.Visible, Destroying: v.service.volumes.Destroying, Logger: v.logger,
	})
	timing := v.spec.Reactions.Guest
	boot := cmp.Or(time.Duration(timing.Boot), opts.BootDelay)
	v.guests = guest.Start(ctx, built.Guests, guest.Options{
		VCenter: v.spec.Name, Events: opts.Events, Stock: off, Subnet: v.subnet, Origins: built.Origins,
		BootDelay: boot, AddressDelay: time.Duration(timing.Addresses), ShutdownDelay: time.Duration(timing.Shutdown),
	})
	v.hosts = host.Install(ctx, host.Options{
		VCenter: v.spec.Name, Events: opts.Events, Stock: off, Boot: boot, Causing: v.guests.CausingRef,
		Locked: v.service.volumes.Locked,
	})
	v.reactions = react.Start(ctx, react.Options{
		VCenter: v.spec.Name, Events: opts.Events, Reactions: v.spec.Reactions, Hosts: v.hosts, Renew: v.guests.Renew,
		Speed: float64(opts.Speed),
	})
	v.joining = inventory.NewHostAdder(ctx, v.spec.Version)
	ctx.Map.Handler = v.hook
	return nil
}

// subnet returns the addresses of a network in the topology.
func (v *VCenter) subnet(datacenter, network string) netip.Prefix {
	for i := range v.spec.Datacenters {
		if d := &v.spec.Datacenters[i]; d.Name == datacenter {
			if _, n := d.Network(network); n != nil {
				return n.Subnet()
			}
		}
	}
	return netip.Prefix{}
}

// sessionEnded releases the resources of a session.
func (v *VCenter) sessionEnded(key string) {
	if v.collectors != nil {
		v.collectors.EndSession(key)
	}
	if v.corrections != nil {
		v.corrections.EndSession(v.service.ctx, key)
	}
	v.service.rest.EndSession(key)
	v.service.leases.End(key)
}

// permissionsChanged updates watchers after a change of permissions.
func (v *VCenter) permissionsChanged() {
	if v.collectors != nil {
		v.collectors.Recheck()
	}
}

// serve opens the gate.
func (v *VCenter) serve(ctx context.Context, l net.Listener) error {
	config := &tls.Config{Certificates: []tls.Certificate{v.pair.TLS()}, MinVersion: tls.VersionTLS12}
	v.console = console.Open(v.service.handler, config, v.logger)
	if v.vcsim.Certificate != nil {
		config = &tls.Config{Certificates: []tls.Certificate{*v.vcsim.Certificate}, MinVersion: tls.VersionTLS12}
	}
	handler := v.slowTasks(v.service.handler)
	if v.vcsim.Exposed {
		handler = (&guessing{first: firstWait}).slowed(handler)
	}
	if v.vcsim.Trace != nil {
		handler = traced(handler, v.vcsim.Trace)
	}
	v.gate = gate.New(l, handler, v.gateHooks(gate.Options{
		TLS:    config,
		Plain:  v.vcsim.PlainHTTP,
		Logger: v.logger,
		OnMode: v.logMode,
	}))
	return errors.Join(v.delay(&v.vcsim), v.openTunnel(ctx))
}

// close stops everything, in an order without deadlocks.
func (v *VCenter) close(ctx context.Context) error {
	v.once.Do(func() { close(v.closing) })
	if v.tunnel != nil {
		_ = v.tunnel.Close()
	}
	if v.gate != nil {
		v.gate.Cut()
	}
	if v.collectors != nil {
		v.collectors.Close()
	}
	if v.console != nil {
		v.console.Close()
	}
	v.reactions.Close()
	if v.hosts != nil {
		v.hosts.Close()
	}
	if v.guests != nil {
		v.guests.Close()
	}
	if v.corrections != nil {
		v.corrections.Close(v.service.ctx)
	}
	if v.service != nil {
		v.service.close()
	}
	if v.gate == nil {
		return nil
	}
	if err := v.gate.Close(ctx); err != nil {
		return err
	}
	v.failing.Wait()
	return nil
}

// logMode reports changes of the gate's mode.
func (v *VCenter) logMode(from, to gate.Mode) {
	if v.events == nil {
		return
	}
	level := event.Warning
	if to.State == gate.Up {
		level = event.Info
	}
	v.events.Append(event.Event{
		Plane:   event.PlaneSandbox,
		Level:   level,
		Kind:    "gate." + string(to.State),
		Object:  event.Object{Kind: "VCenter", VCenter: v.spec.Name, Name: v.spec.Name},
		Message: fmt.Sprintf("vCenter's API was %s, is %s", from, to),
	})
}

// Name returns the name in the topology.
func (v *VCenter) Name() string { return v.spec.Name }

// InstanceUUID returns the UUID of this vCenter (About.InstanceUuid).
func (v *VCenter) InstanceUUID() string { return v.spec.InstanceUUID }

// Version returns the release of the vCenter.
func (v *VCenter) Version() string { return cmp.Or(v.spec.Version, inventory.Version) }

// Host returns the IP address on which the vCenter listens.
func (v *VCenter) Host() string { return v.addr.IP.String() }

// Port returns the port on which the vCenter listens.
func (v *VCenter) Port() int { return v.addr.Port }

// Addr returns "host:port".
func (v *VCenter) Addr() string { return net.JoinHostPort(v.Host(), strconv.Itoa(v.Port())) }

// URL returns the address of the SOAP endpoint, without user.
func (v *VCenter) URL() *url.URL {
	return &url.URL{Scheme: v.vcsim.scheme(), Host: v.Addr(), Path: vim25.Path}
}

// Causing makes seq the cause of what happens to the VM with that name, until release is called.
func (v *VCenter) Causing(vm string, seq uint64) (release func()) { return v.guests.Causing(vm, seq) }

// Certificate returns the vCenter's first certificate (PEM); its gate may use another one since.
func (v *VCenter) Certificate() []byte { return v.pair.Cert }

// Gate returns the front of its API: call counts, outages.
func (v *VCenter) Gate() *gate.Gate { return v.gate }

// VMs returns the current number of VMs.
func (v *VCenter) VMs() int { return len(v.service.ctx.Map.AllReference("VirtualMachine")) }

// Hosts returns the hosts and datastores, for changes that no client can make.
func (v *VCenter) Hosts() *host.Hosts { return v.hosts }

// Guests returns the guests of VMs, for changes that no client can make.
func (v *VCenter) Guests() *guest.Guests { return v.guests }

// CNS returns the manager of volumes, for changes without Kubernetes, and rules for its calls.
func (v *VCenter) CNS() *cns.Manager { return v.service.volumes }

// hook is vcsim's hook before every SOAP call: it checks permissions and arguments, and redirects the call.
func (v *VCenter) hook(ctx *simulator.Context, method *simulator.Method) (mo.Reference, types.BaseMethodFault) {
	if receiver, fault := v.service.access.Hook(ctx, method); receiver != nil || fault != nil {
		return receiver, fault
	}
	if fault := v.corrections.Check(ctx, method); fault != nil {
		return nil, fault
	}
	if fault := v.hosts.Check(ctx, method); fault != nil {
		return nil, fault
	}
	_ = v.hosts.Redirect(ctx, method) ||
		v.service.volumes.Redirect(ctx, method) ||
		v.guests.Redirect(ctx, method) ||
		v.joining.Redirect(ctx, method) ||
		v.corrections.Redirect(ctx, method)
	return nil, nil
}

// DialConsole returns a connection to the vCenter's API that bypasses its gate: the gate does not count the calls, and outages do
// not affect them. The caller must use TLS on it.
func (v *VCenter) DialConsole(ctx context.Context) (net.Conn, error) { return v.console.Dial(ctx) }
