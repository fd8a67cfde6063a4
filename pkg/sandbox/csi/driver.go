// Package csi runs the CSI driver of a sandbox: as processes, the driver's controller and the sidecars with their objects and
// accounts in the cluster, or as pods. It knows which Nodes take volumes.
//
// Floor 3.
package csi

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
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
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// process is a process of a CSI driver's controller.
type process struct {
	// name is the name of the component, of its log and, for a sidecar, of the program's subcommand.
	name string
	// account is its ServiceAccount, in objects.DefaultNamespace.
	account string
	// driver: it is the driver itself, a command of this binary; the others are sidecars.
	driver bool
}

// processes lists them in the order of their start, the driver first. They wait for each other.
func processes() []process {
	return []process{
		{name: controller, account: objects.Controller, driver: true},
		{name: "csi-provisioner", account: objects.Provisioner},
		{name: "csi-attacher", account: objects.Attacher},
		{name: "csi-resizer", account: objects.Resizer},
		{name: "csi-snapshotter", account: objects.Snapshotter},
		{name: "snapshot-controller", account: objects.SnapshotController},
	}
}

// controller is the component of the driver, and its command in this binary.
const controller = "csi-controller"

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
	// CloudConfig is the driver's configuration file, Args are more arguments of the driver.
	CloudConfig string
	Args        []string
	// Env is the environment of all processes.
	Env func() []string
	// SecretNamespace and SecretName are where the credentials of vCenters are.
	SecretNamespace, SecretName string

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

	mu       sync.Mutex
	children map[string]*child.Child
	nodes    map[string]bool // those that take volumes
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

// socket returns the path at which the driver's controller listens.
func (d *Driver) socket() (string, error) {
	dir, err := d.Dir.ShortPath("/csi.sock", "csi")
	return dir + "/csi.sock", err
}

// Start makes the account that Nodes share, which is all that they need to start, and continues in the background: see
// [Driver.Await].
func (d *Driver) Start(ctx context.Context) error {
	if err := os.MkdirAll(d.dir(), 0o700); err != nil {
		return err
	}
	if err := d.applyNodeAccount(ctx); err != nil {
		return err
	}
	if err := d.Tokens.Project(ctx, d.Account(objects.Node)); err != nil {
		return err
	}
	up := make(chan error, 1)
	d.mu.Lock()
	d.up = up
	d.mu.Unlock()
	d.Background.Run(bootGroup, func(ctx context.Context) { up <- d.startProcesses(ctx) })
	return nil
}

// bootGroup is the background group that works while Nodes boot.
const bootGroup = "csi boot"

// startProcesses creates what a driver needs in the cluster and starts its processes, each with the rights of a separate
// ServiceAccount. It returns before they serve.
func (d *Driver) startProcesses(ctx context.Context) error {
	clusterID, err := d.ClusterID(ctx)
	if err != nil {
		return err
	}
	if err := d.applyObjects(ctx); err != nil {
		return err
	}
	socket, err := d.socket()
	if err != nil {
		return err
	}
	processes := processes()
	kubeconfigs := make([]string, len(processes))
	g, preparing := errgroup.WithContext(ctx)
	for i, p := range processes {
		g.Go(func() (err error) {
			kubeconfigs[i], err = d.kubeconfig(preparing, p)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, p := range processes {
		started := child.Start(d.spec(p, socket, kubeconfigs[i], clusterID), d.Components.Notify)
		d.mu.Lock()
		if d.children == nil {
			d.children = map[string]*child.Child{}
		}
		d.children[p.name] = started
		d.mu.Unlock()
		if p.driver {
			awaitSocket(ctx, socket)
		}
	}
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

// kubeconfig writes the kubeconfig of a process, with the rights of its account and its own proxy to the API server.
func (d *Driver) kubeconfig(ctx context.Context, p process) (path string, err error) {
	a := d.Account(p.account)
	if err := d.Tokens.Project(ctx, a); err != nil {
		return "", err
	}
	addr, err := d.Proxies.Addr(p.name)
	if err != nil {
		return "", err
	}
	path = d.dir(p.name + ".kubeconfig")
	return path, d.Cluster().Token(path, addr, a.File)
}

// Account is an account of the driver, by name.
func (d *Driver) Account(name string) accounts.Account {
	return accounts.Account{Namespace: objects.DefaultNamespace, Name: name, File: d.dir(name + ".token"), Group: "csi tokens"}
}

// Stop ends the processes, the sidecars first.
func (d *Driver) Stop(ctx context.Context) error {
	errs := []error{d.Background.End(ctx, bootGroup), d.Background.End(ctx, "csi tokens")}
	d.mu.Lock()
	driver := d.children[controller]
	var sidecars []*child.Child
	for name, c := range d.children {
		if name != controller {
			sidecars = append(sidecars, c)
		}
	}
	d.mu.Unlock()
	errs = append(errs, child.StopAll(ctx, sidecars...))
	if driver != nil {
		errs = append(errs, driver.Stop(ctx))
	}
	return errors.Join(errs...)
}

// AccountOf returns the ServiceAccount of a component, "" when it is none of the driver's.
func AccountOf(component string) string {
	all := processes()
	if i := slices.IndexFunc(all, func(p process) bool { return p.name == component }); i >= 0 {
		return all[i].account
	}
	return ""
}
