// Package embedded is the ground of a control plane in a process, with a kubelet in a process for each VM.
//
// Floor 3.
package embedded

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/embedded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/embedded/egress"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Config is what the sandbox knows. All fields but CSI are mandatory.
type Config struct {
	embedded.Options
	// Instance is the directory of the sandbox.
	Instance *instance.Dir
	// Kubernetes is the path of the Kubernetes program.
	Kubernetes string
	// Kubelets are the paths for VMs whose kubelet is another program's, by vCenter and name.
	Kubelets map[VM]string
	// CSI: the kubelets have the CSI driver's node service.
	CSI    bool
	Logger *slog.Logger
	Host   Host
}

// Host is the sandbox.
type Host interface {
	// Detail reports what the present boot step waits for.
	Detail(text string)
	// SetCluster sets the cluster that the sandbox uses.
	SetCluster(cluster.Cluster)
	// StartControlPlane starts the process and supervises it.
	StartControlPlane(child.Spec) *child.Child
	// Child completes the spec of a child.
	Child(child.Spec) child.Spec
	// Proxy returns the address of the proxy with that name to the API server.
	Proxy(name string) (addr string, err error)
	// Kubelet returns the kubelet at a host: the name of a Node or an address of its VM. The error is one for the user.
	Kubelet(host string) (Kubelet, error)
	// DriverToken is the file with the token of the CSI driver's node service, DriverService the [contract.CSIService] with
	// its program.
	DriverToken() string
	DriverService() string
	// VolumeDir returns the directory of a volume's disk, "" where this machine has none; false when there is no such vCenter.
	VolumeDir(vcenter, id string) (string, bool)
}

// Ground implements [ground.Ground] and [ground.ControlPlane].
type Ground struct {
	Config
	cluster *embedded.Cluster
	egress  *egress.Server
	child   *child.Child
}

// VM is a VM of a topology.
type VM struct{ VCenter, Name string }

// New returns the ground; nothing runs yet.
func New(c Config) *Ground { return &Ground{Config: c} }

// Facts implements [ground.Ground].
func (*Ground) Facts() ground.Facts { return ground.Facts{Cluster: api.ClusterEmbedded} }

// Steps implements [ground.Ground]. The control plane comes first because it takes longest and needs nothing of vSphere;
// vCenters are built while it starts.
func (g *Ground) Steps(s ground.Steps) []ground.Step {
	return []ground.Step{
		{Name: "control plane", Start: g.start, Stop: g.stop},
		s.VCenters, s.NSX, s.Inventory, s.Faults, s.Supervisor,
		{Name: "API server", Start: g.awaitAPI},
		s.Guest, s.NodeWatch, s.LoadBalancer, s.CloudConfig, s.CCM, s.CSI, s.Nodes, s.Initialized, s.Volumes,
	}
}

func (g *Ground) start(context.Context) (err error) {
	if err := g.listen(); err != nil {
		return err
	}
	if g.cluster, err = embedded.New(g.Options); err != nil {
		return err
	}
	g.Host.SetCluster(g.cluster)
	spec := g.cluster.Spec()
	spec.Path = g.Kubernetes
	g.child = g.Host.StartControlPlane(spec)
	return nil
}

// awaitAPI waits for the API server, makes it refuse what cannot work here, and grants what its own parts need.
func (g *Ground) awaitAPI(ctx context.Context) error {
	if err := g.cluster.WaitReady(ctx, g.Host.Detail); err != nil {
		return err
	}
	all, ctx := errgroup.WithContext(ctx)
	all.Go(func() error { return refuseServices(ctx, g.cluster.Client()) })
	all.Go(func() error { return grant(ctx, g.cluster.Client()) })
	all.Go(func() error { return serveMetrics(ctx, g.cluster) })
	return all.Wait()
}

func (g *Ground) stop(ctx context.Context) error {
	var errs []error
	if g.child != nil {
		errs = append(errs, g.child.Stop(ctx))
	}
	if g.cluster != nil {
		errs = append(errs, g.cluster.Close())
	}
	if g.egress != nil {
		errs = append(errs, g.egress.Close())
	}
	return errors.Join(errs...)
}

// Light implements [ground.Ground].
func (*Ground) Light(vm *topology.VM) bool { return vm.IsLight() }

// Nodes implements [ground.Ground].
func (g *Ground) Nodes(t *topology.Topology) string {
	return ground.KindOfNodes(t, g.Light, api.NodesHollow)
}

// Supervised implements [ground.Supervised].
func (g *Ground) Supervised() bool { return g.Supervisor }

// SlowEtcd implements [ground.ControlPlane].
func (g *Ground) SlowEtcd(d time.Duration) error {
	return g.cluster.Tune(contract.Tuning{EtcdDelay: d})
}

// SaveObjects implements [ground.ObjectSaver].
func (g *Ground) SaveObjects(ctx context.Context, w io.Writer) (int, error) {
	return g.cluster.SaveObjects(ctx, w)
}

// RestoreObjects implements [ground.ObjectSaver].
func (g *Ground) RestoreObjects(ctx context.Context, r io.Reader) error {
	return g.cluster.RestoreObjects(ctx, r)
}

// Unfrozen implements [ground.ObjectSaver].
func (*Ground) Unfrozen() []string { return []string{embedded.Component} }

// Guest implements [ground.Ground]: a hollow kubelet in a process for each VM, or one process for all light nodes.
func (g *Ground) Guest(n ground.Node) node.Guest {
	if n.IsLight() {
		return n.LightGuest(ground.LightOptions{})
	}
	vm := n.VM()
	options := node.Options{
		Spec:   func(m node.VM) (child.Spec, error) { return g.spec(n, VM{vm.VCenter, vm.Name}, m) },
		Notify: n.Notify,
	}
	if g.CSI {
		options.Links = &node.Links{
			Dir: node.ByID(n.Dir()), Shares: g.shares(vm.VCenter),
			Disk: func(volume string) string {
				dir, _ := g.Host.VolumeDir(vm.VCenter, volume)
				return dir
			},
			Failed: func(err error) { g.Logger.Error("links to disks", "vm", vm.Name, "err", err) },
		}
	}
	return node.New(options)
}

// shares returns the parent of the contents of all simulated vCenters, "" if this machine has none.
func (g *Ground) shares(vcenter string) string {
	dir, _ := g.Host.VolumeDir(vcenter, "any")
	if dir == "" {
		return ""
	}
	return filepath.Dir(filepath.Dir(dir))
}

// spec writes the configuration of a VM's kubelet for one boot.
func (g *Ground) spec(n ground.Node, vm VM, m node.VM) (child.Spec, error) {
	name, err := ground.NodeName(vm.Name, m)
	if err != nil {
		return child.Spec{Name: "node/" + vm.Name}, err
	}
	component, role := n.Boot(name)
	spec := child.Spec{Name: component, Path: cmp.Or(g.Kubelets[vm], g.Kubernetes)}
	dir := n.Dir()
	if err := os.MkdirAll(filepath.Join(dir, "kubelet"), 0o700); err != nil {
		return spec, err
	}
	root, err := g.root(dir)
	if err != nil {
		return spec, err
	}
	image, kernel := node.OS(m.GuestID)
	cfg := contract.Node{
		Name:         name,
		RootDir:      root,
		Kubeconfig:   filepath.Join(dir, "kubeconfig"),
		SystemUUID:   m.UUID,
		CPUs:         m.CPUs,
		MemoryBytes:  m.MemoryBytes,
		OSImage:      image,
		Kernel:       kernel,
		Speed:        g.Speed,
		ControlPlane: role == topology.RoleControlPlane,
		FeatureGates: g.Knobs.FeatureGates,
	}
	if g.CSI {
		cfg.CSI = &contract.CSINode{ByIDDir: node.ByID(dir), Kubeconfig: filepath.Join(dir, "csi.kubeconfig"), Boot: m.BootTime.UTC().Format(time.RFC3339Nano), Service: g.Host.DriverService()}
	}
	addr, err := g.Host.Proxy(n.Proxy())
	if err != nil {
		return spec, err
	}
	if err := g.cluster.Via(addr).Node(cfg.Kubeconfig, name); err != nil {
		return spec, err
	}
	if cfg.CSI != nil {
		if err := g.cluster.Token(cfg.CSI.Kubeconfig, addr, g.Host.DriverToken()); err != nil {
			return spec, err
		}
	}
	if cfg.Server, err = g.cluster.NodeServer(dir, name, n.Current().Addresses); err != nil {
		return spec, err
	}
	cfg.Server.Socket = root + apiSocket
	path := filepath.Join(dir, "config.json")
	if err := cfg.Write(path); err != nil {
		return spec, err
	}
	spec.Args = []string{contract.NodeCommand, "--config=" + path}
	return g.Host.Child(spec), nil
}
