package sandbox

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
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/objects"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/accounts"
)

// CSI says what volumes the sandbox has. The zero value is none.
type CSI struct {
	// Enabled: a CSI driver runs, the built-in one, with the stock sidecars, and every node serves its volumes.
	Enabled bool
	// Sidecars is the program that is the sidecars, cmd/csi-sidecars.
	Sidecars string
	// Foreign is a driver that is not ours, in the place of the built-in one; nil for that. It is for grounds where it runs as pods.
	Foreign *kind.ForeignCSI
}

// csiProcess is one of the processes of a CSI driver's controller.
type csiProcess struct {
	// name is that of the component, of its log and, in the cases of sidecars, of the program's subcommand.
	name string
	// account is its ServiceAccount, in objects.DefaultNamespace.
	account string
	// driver: it is the driver itself, a command of this binary; the others are sidecars.
	driver bool
}

// csiProcesses lists them in the order in which they are started, the driver first; they wait for each other themselves.
func csiProcesses() []csiProcess {
	return []csiProcess{
		{name: csiController, account: objects.Controller, driver: true},
		{name: "csi-provisioner", account: objects.Provisioner},
		{name: "csi-attacher", account: objects.Attacher},
		{name: "csi-resizer", account: objects.Resizer},
		{name: "csi-snapshotter", account: objects.Snapshotter},
		{name: "snapshot-controller", account: objects.SnapshotController},
	}
}

// csiController is the component that is the driver, and the command of this binary that is.
const csiController = "csi-controller"

// csi is what runs of it. The zero value is ready to use.
type csi struct {
	mu       sync.Mutex
	children map[string]*child.Child
	nodes    map[string]bool // those that take volumes
	up       <-chan error    // gets one value, when the processes have been started or cannot be
}

func (c *csi) find(component string) *child.Child {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.children[component]
}

// dir is where everything of the driver is that is no node's.
func (s *Sandbox) csiDir(elem ...string) string {
	return s.opts.Dir.Path(append([]string{"csi"}, elem...)...)
}

// csiSocket is where the driver's controller serves.
func (s *Sandbox) csiSocket() (string, error) {
	dir, err := s.opts.Dir.ShortPath("/csi.sock", "csi")
	return dir + "/csi.sock", err
}

// startCSI makes the account that nodes share, which is all that they need to start, and has the rest done while they do:
// see [Sandbox.waitCSI].
func (s *Sandbox) startCSI(ctx context.Context) error {
	if err := os.MkdirAll(s.csiDir(), 0o700); err != nil {
		return err
	}
	if err := s.applyCSINodeAccount(ctx); err != nil {
		return err
	}
	if err := s.tokens.Project(ctx, s.csiServiceAccount(objects.Node)); err != nil {
		return err
	}
	up := make(chan error, 1)
	s.csi.mu.Lock()
	s.csi.up = up
	s.csi.mu.Unlock()
	s.background.Run(csiBoot, func(ctx context.Context) { up <- s.startCSIProcesses(ctx) })
	return nil
}

// csiBoot is the background group of what is done while nodes boot.
const csiBoot = "csi boot"

// startCSIProcesses creates what a driver needs in the cluster and starts its processes, each with the rights of its own
// ServiceAccount. It returns before they serve.
func (s *Sandbox) startCSIProcesses(ctx context.Context) error {
	clusterID, err := s.clusterID(ctx)
	if err != nil {
		return err
	}
	if err := s.applyCSIObjects(ctx); err != nil {
		return err
	}
	socket, err := s.csiSocket()
	if err != nil {
		return err
	}
	processes := csiProcesses()
	kubeconfigs := make([]string, len(processes))
	g, preparing := errgroup.WithContext(ctx)
	for i, p := range processes {
		g.Go(func() (err error) {
			kubeconfigs[i], err = s.csiKubeconfig(preparing, p)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, p := range processes {
		started := child.Start(s.csiSpec(p, socket, kubeconfigs[i], clusterID), s.components.Notify)
		s.csi.mu.Lock()
		if s.csi.children == nil {
			s.csi.children = map[string]*child.Child{}
		}
		s.csi.children[p.name] = started
		s.csi.mu.Unlock()
		if p.driver {
			awaitSocket(ctx, socket)
		}
	}
	return nil
}

// awaitSocket waits until the driver serves, for a while: a sidecar that finds no socket looks again a second later.
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

// csiKubeconfig writes the kubeconfig of a process: the rights of its account, by a way of its own.
func (s *Sandbox) csiKubeconfig(ctx context.Context, p csiProcess) (path string, err error) {
	a := s.csiServiceAccount(p.account)
	if err := s.tokens.Project(ctx, a); err != nil {
		return "", err
	}
	addr, err := s.proxies.Addr(p.name)
	if err != nil {
		return "", err
	}
	path = s.csiDir(p.name + ".kubeconfig")
	return path, s.cluster.Token(path, addr, a.File)
}

// csiServiceAccount is an account of the driver, by name.
func (s *Sandbox) csiServiceAccount(name string) accounts.Account {
	return accounts.Account{Namespace: objects.DefaultNamespace, Name: name, File: s.csiDir(name + ".token"), Group: "csi tokens"}
}

// stopCSI ends the processes, the sidecars first.
func (s *Sandbox) stopCSI(ctx context.Context) error {
	var errs []error
	errs = append(errs, s.background.End(ctx, csiBoot), s.background.End(ctx, "csi tokens"))
	s.csi.mu.Lock()
	driver := s.csi.children[csiController]
	var sidecars []*child.Child
	for name, c := range s.csi.children {
		if name != csiController {
			sidecars = append(sidecars, c)
		}
	}
	s.csi.mu.Unlock()
	errs = append(errs, stopAll(ctx, sidecars))
	if driver != nil {
		errs = append(errs, driver.Stop(ctx))
	}
	return errors.Join(errs...)
}

// stopAll stops children at once.
func stopAll(ctx context.Context, all []*child.Child) error {
	var wg sync.WaitGroup
	errs := make([]error, len(all))
	for i, c := range all {
		wg.Go(func() { errs[i] = c.Stop(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// csiAccount returns the ServiceAccount of a component, "" when it is none of the driver's.
func csiAccount(component string) string {
	all := csiProcesses()
	if i := slices.IndexFunc(all, func(p csiProcess) bool { return p.name == component }); i >= 0 {
		return all[i].account
	}
	return ""
}
