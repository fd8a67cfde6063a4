// Package csi runs the CSI driver of a sandbox: as processes, the driver's controller and the sidecars with their objects and
// accounts in the cluster, or as pods. It knows which Nodes take volumes.
//
// Floor 3.
package csi

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/program"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/objects"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/accounts"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/await"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/background"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/causality"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/components"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/pods"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/supervisor"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// processes lists all processes of one controller that there may be, in the order of their start. They wait for each other. The
// syncer is the first one: upstream's makes the kinds of objects that its driver needs.
func processes() []process {
	return []process{
		{program: syncer, account: objects.Controller, part: partSyncer},
		{program: controller, account: objects.Controller, part: partController},
		{program: webhook, account: webhookAccount, part: partWebhook},
		{program: "csi-provisioner", account: objects.Provisioner},
		{program: "csi-attacher", account: objects.Attacher},
		{program: "csi-resizer", account: objects.Resizer},
		{program: "csi-snapshotter", account: objects.Snapshotter},
		{program: "snapshot-controller", account: objects.SnapshotController},
	}
}

const (
	// controller is the component of the driver, and its command in this binary.
	controller = Command
	// syncer is the component of a syncer that is a separate program.
	syncer = "csi-syncer"
)

// Driver is the processes of a CSI driver's controller. Set its fields before [Driver.Start].
type Driver struct {
	Log    *event.Log
	Causes *causality.Finder
	Dir    *instance.Dir
	Speed  pace.Speed
	// Topology is that of the vCenters.
	Topology *topology.Topology
	// Sidecars is the program that is the sidecars.
	Sidecars string
	// Options choose the driver.
	Options Options
	// CloudConfig is the configuration file of the built-in driver, CAFile that of the certificates of vCenters, Args are more arguments
	// of drivers of this project.
	CloudConfig string
	CAFile      string
	Args        []string
	// Ready returns an error if the sandbox is in no state to change the driver.
	Ready func() error
	// StartTime bounds how long a driver takes to serve; 0 is a minute.
	StartTime time.Duration
	// Unhealthy is called for a driver that cannot be used, or does not serve in time, more than once.
	Unhealthy func(text string)
	Logger    *slog.Logger
	// Env is the environment of all processes.
	Env func() []string
	// Guest is the place of a guest cluster's programs; nil without a Supervisor.
	Guest func() (supervisor.Environment, error)
	// SecretNamespace and SecretName are where the credentials of vCenters are.
	SecretNamespace, SecretName string
	// Host returns the host by which the keys of that Secret name a vCenter.
	Host func(vcenter string) string

	Cluster    func() cluster.Cluster
	Components *components.Registry
	Proxies    *components.Proxies
	Tokens     *accounts.Tokens
	Background *background.Groups

	World func() *world.World
	// Light reports whether a VM is a light node, which takes no volumes.
	Light func(world.VM) bool
	// Kubelet returns the component that is the kubelet of a node, "" for none.
	Kubelet func(node string) string
	Waiter  *await.Waiter

	// The rest is for a driver that runs as pods. Manifest is a driver that is not the built-in one; nil for that.
	Pods     *pods.Pods
	Manifest []byte
	// Volumes returns the fields of the deployment that make volumes of disks.
	Volumes func() deploy.CSI
	// Conf renders the configuration of a driver that is not the built-in one.
	Conf func(sim.CSIConfig) ([]byte, error)

	writing sync.Mutex // held while the configuration is written
	hook    hook

	changing  sync.Mutex                   // held while processes are started, replaced or stopped
	granted   []*unstructured.Unstructured // guarded by changing, as projected: the accounts with tokens
	projected map[string]bool
	followed  bool // the Leases are watched; guarded by changing

	mu       sync.Mutex
	running  Options
	children map[string]*child.Child
	states   []state         // of each controller
	webhook  state           // of the webhook
	leads    map[string]bool // the components that hold their Lease
	failed   string          // what became of the newest build of a watched program, "" if it runs
	changed  chan struct{}   // closed and replaced when the state changes
	stopped  bool
	nodes    map[string]bool // those that take volumes
	waits    string          // what the start of the processes waits for
	up       <-chan error    // gets one value, when the processes have been started or cannot be
}

// Find returns the process of a component, nil when it is none of the driver's.
func (d *Driver) Find(component string) *child.Child {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.children[component]
}

// dir returns a path in the driver's directory. Nodes have their own files elsewhere.
func (d *Driver) dir(elem ...string) string {
	return d.Dir.Path(append([]string{"csi"}, elem...)...)
}

// socket returns the path at which a controller listens.
func (d *Driver) socket(replica int) (string, error) {
	const name = "/csi.sock"
	dir, err := d.Dir.ShortPath(name+"-9", "csi")
	return dir + components.Replica(name, replica), err
}

// Start makes the account that Nodes share, which is all that they need to start, and continues in the background: see
// [Driver.Await].
func (d *Driver) Start(ctx context.Context) error {
	d.changing.Lock()
	d.projected, d.followed = nil, false // it may have been stopped for a restore
	d.changing.Unlock()
	d.update(func() { d.stopped, d.states = false, nil })
	if err := os.MkdirAll(d.dir(), 0o700); err != nil {
		return err
	}
	if err := d.checkWebhook(d.Options.WithDefaults()); err != nil {
		return err
	}
	if err := d.withdrawLeft(ctx); err != nil {
		return err
	}
	if err := d.applyNodeAccount(ctx); err != nil {
		return err
	}
	if err := d.Tokens.Project(ctx, d.Account(objects.Node)); err != nil {
		return err
	}
	o := d.Options.WithDefaults()
	if o.Watch != "" && o.Program.Path == o.Watch {
		kept, err := program.Keep(ctx, d.builds(), o.Program)
		if err != nil {
			return err
		}
		o.Program = kept
	}
	if err := d.nameNodeService(o); err != nil { // kubelets read it when they start
		return err
	}
	up := make(chan error, 1)
	d.mu.Lock()
	d.up = up
	d.mu.Unlock()
	d.Background.Run(bootGroup, func(ctx context.Context) { up <- d.startProcesses(ctx, o) })
	d.Background.Run(healthGroup, d.watchHealth)
	if o.Watch != "" {
		d.Background.Run(buildGroup, func(ctx context.Context) { d.watchBuilds(ctx, o.Watch) })
	}
	return nil
}

// Background groups: bootGroup works while Nodes boot.
const (
	bootGroup   = "csi boot"
	healthGroup = "csi health"
	buildGroup  = "csi watch"
	leaderGroup = "csi leaders"
	tokenGroup  = "csi tokens"
)

// startProcesses creates what a driver needs in the cluster and starts its processes, each with the rights of a separate
// ServiceAccount. It returns before they serve.
func (d *Driver) startProcesses(ctx context.Context, o Options) error {
	d.changing.Lock()
	defer d.changing.Unlock()
	for _, one := range []struct {
		waits string
		do    func() error
	}{
		{"its objects in the cluster", func() error { return d.applyObjects(ctx) }},
		{"the rights of its accounts", func() error { return d.grant(ctx, o) }},
		{"the tokens of its accounts", func() error { return d.project(ctx, o) }},
		{"its controller to listen", func() error { return d.launch(ctx, o, 0) }},
	} {
		d.update(func() { d.waits = one.waits })
		if err := one.do(); err != nil {
			return err
		}
	}
	return nil
}

// launch starts the processes of a driver, for the event cause (0: with the sandbox). None is running. The caller holds changing.
func (d *Driver) launch(ctx context.Context, o Options, cause uint64) error {
	clusterID, err := d.ClusterID(ctx)
	if err != nil {
		return err
	}
	d.update(func() {
		d.running, d.children, d.leads = o, map[string]*child.Child{}, map[string]bool{}
		d.webhook = state{started: time.Now(), reason: "starting"}
		d.states = slices.Repeat([]state{d.webhook}, max(o.Replicas, 1))
	})
	if o.Webhook {
		if err := d.hook.prepare(d.dir(webhook), o); err != nil {
			return err
		}
	}
	if err := d.writeConfig(ctx, o, clusterID, false); err != nil { // from here on Reconfigure keeps it up to date
		return err
	}
	if o.elects() {
		d.followLeases()
	}
	for _, p := range o.processes() {
		socket, err := d.socket(p.replica)
		if err != nil {
			return err
		}
		if err := d.start(p, d.spec(p, o, socket, clusterID), cause); err != nil {
			return err
		}
		if p.part == partController {
			awaitSocket(ctx, socket)
		}
	}
	return nil
}

// start starts one process.
func (d *Driver) start(p process, spec child.Spec, cause uint64) error {
	from := d.logSize(p.name)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped {
		return errStopping
	}
	if p.part.probed() {
		d.stateOf(p).logFrom = from
	}
	first := true
	d.children[p.name] = child.Start(spec, func(ch child.Change) {
		because := uint64(0) // later changes have their own causes
		if ch.State == child.Started && first {
			because, first = cause, false
		}
		d.Components.Note(ch, event.Object{Kind: "Component", Name: p.name}, because)
		d.childChanged(p, ch)
	})
	return nil
}

// awaitSocket waits up to 2 seconds until the driver listens: a sidecar that finds no socket retries only a second later.
func awaitSocket(ctx context.Context, socket string) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		if c, err := (&net.Dialer{}).DialContext(ctx, "unix", socket); err == nil {
			_ = c.Close()
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// project writes the kubeconfigs of all processes, and the tokens in them, which stay fresh from then on.
func (d *Driver) project(ctx context.Context, o Options) error {
	g, ctx := errgroup.WithContext(ctx)
	if d.projected == nil {
		d.projected = map[string]bool{}
	}
	for _, p := range o.processes() {
		a := d.Account(o.accountOf(p))
		if !d.projected[a.Name] {
			d.projected[a.Name] = true
			g.Go(func() error { return d.Tokens.Project(ctx, a) })
		}
		g.Go(func() error { return d.kubeconfig(p, a) })
	}
	return g.Wait()
}

// kubeconfig writes the kubeconfig of a process, with the rights of its account and its own proxy to the API server.
func (d *Driver) kubeconfig(p process, a accounts.Account) error {
	addr, err := d.Proxies.Addr(p.name)
	if err != nil {
		return err
	}
	return d.Cluster().Token(d.kubeconfigPath(p), addr, a.File)
}

func (d *Driver) kubeconfigPath(p process) string { return d.dir(p.name + ".kubeconfig") }

// Account is an account of the driver, by name.
func (d *Driver) Account(name string) accounts.Account {
	return accounts.Account{Namespace: objects.DefaultNamespace, Name: name, File: d.dir(name + ".token"), Group: tokenGroup}
}

// Stop ends the processes, the sidecars first.
func (d *Driver) Stop(ctx context.Context) error {
	var errs []error
	for _, group := range []string{buildGroup, bootGroup, healthGroup, leaderGroup, tokenGroup} {
		errs = append(errs, d.Background.End(ctx, group))
	}
	d.update(func() { d.stopped = true })
	d.changing.Lock()
	defer d.changing.Unlock()
	return errors.Join(append(errs, d.withdraw(ctx), d.end(ctx))...)
}

// end ends the processes that run, the sidecars first. The caller holds changing.
func (d *Driver) end(ctx context.Context) error {
	d.mu.Lock()
	var sidecars, programs []*child.Child
	for _, p := range d.running.processes() {
		if p.part == "" {
			sidecars = append(sidecars, d.children[p.name])
		} else {
			programs = append(programs, d.children[p.name])
		}
	}
	d.mu.Unlock()
	return errors.Join(child.StopAll(ctx, sidecars...), child.StopAll(ctx, programs...))
}

// AccountOf returns the ServiceAccount of a component, "" when it is none of the driver's.
func (d *Driver) AccountOf(component string) string {
	o := d.Running()
	all := o.processes()
	if i := slices.IndexFunc(all, func(p process) bool { return p.name == component }); i >= 0 {
		return o.accountOf(all[i])
	}
	return ""
}
