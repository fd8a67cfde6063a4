// Package kind is the ground of a cluster that kind makes: a container stands for each VM that is a Node, and the cloud controller
// manager and the CSI driver are pods.
//
// Floor 3.
package kind

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/release"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/image"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind"
	kindguest "github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/guest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/guest/disks"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/images"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/nodeimage"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Options say what cluster kind makes. The zero value is useful.
type Options struct {
	// Image is the image of its nodes, by a name that the container runtime knows or can pull. Default: one for this
	// Kubernetes that it has.
	Image string
	// Config is a configuration of kind's that is merged into the one made; ConfigFile is what errors call it.
	Config     []byte
	ConfigFile string
	// Knobs are the user's changes of the components.
	Knobs contract.Knobs
	// Volumes is what volumes are: VolumesDevice, VolumesDir, or "", which is the first where it is possible.
	Volumes string
	// Archives are files with more images, as of [kind.Cluster.LoadImages]. All nodes get them.
	Archives []string
	// Retain keeps the containers when the sandbox does not come up, because of the cluster or of what comes after it. They are
	// in its directory's note then ([Runtime]).
	Retain bool
}

// The values of [Options].Volumes.
const (
	VolumesDevice = "device" // block devices, for which this machine makes loop devices: that takes root on Linux
	VolumesDir    = "dir"    // directories, bind mounted
)

// Config is what the sandbox knows.
type Config struct {
	Options
	// Name is the sandbox's, Dir its directory.
	Name, Dir string
	Topology  *topology.Topology
	Speed     pace.Speed
	// Port of the API server; 0 takes a free one.
	Port int
	// RealVMs: the VMs are those of real vCenters.
	RealVMs bool
	CCM     CCM
	// CSI: there are volumes. Sidecars is the program that is the sidecars of the built-in driver, Foreign another driver; nil for
	// none.
	CSI      bool
	Sidecars string
	Foreign  *ForeignCSI
	Log      *event.Log
	Logger   *slog.Logger
	Host     Host
}

// CCM is the cloud controller manager.
type CCM struct {
	// Name is what it is called in messages. Pods: it runs as pods.
	Name string
	Pods bool
	// Path is a program in place of the built-in one, Manifest what it is deployed with; both may be empty.
	Path     string
	Manifest []byte
}

// Host is the sandbox.
type Host interface {
	// Detail says what the present boot step waits for.
	Detail(text string)
	// SetCluster has the sandbox use the cluster.
	SetCluster(cluster.Cluster)
	// SetPods follows the programs that run as pods, and where these reach the vCenters; StopPods ends that.
	SetPods(*deploy.Deployment, ground.Images, []deploy.PodEndpoint)
	StopPods(context.Context) error
	// Go runs f in the background, Wait cancels what runs there in that group and waits for it.
	Go(group string, f func(context.Context))
	Wait(ctx context.Context, group string) error
	// VCenters are those that run.
	VCenters() []VCenter
	// NSX is the address (host:port) on this machine of the NSX Manager that pods use; "" for none.
	NSX() string
	// Simulated is the simulated vCenter of that name; nil for none.
	Simulated(vcenter string) *sim.VCenter
	// VolumeDir is the directory of a volume's disk, "" where this machine has none; false when there is no such vCenter yet.
	VolumeDir(vcenter, id string) (string, bool)
	// Guest is what Ground.Guest has returned for a VM, nil for none; Exists reports whether the VM is still a node.
	Guest(vcenter string, vm types.ManagedObjectReference) node.Guest
	Exists(vcenter string, vm types.ManagedObjectReference) bool
	// BootFailed reports, of a sandbox that ends, whether it was never ready.
	BootFailed() bool
}

// VCenter is a vCenter with its address on this machine (host:port).
type VCenter struct{ Name, Addr string }

// Ground implements [ground.Ground], [ground.Deployer], [ground.Names], [ground.NSXNames] and [ground.Volumes].
type Ground struct {
	Config

	rt      *runtime.Runtime
	cluster *kind.Cluster
	served  bool       // the cluster was made
	made    chan error // gets one value
	images  *image.Set
	csi     *driverImages // a CSI driver that is not ours; nil for none
	foreign *image.Set    // a cloud controller manager that is not ours; nil for none
	packed  chan error    // gets one value, when there are archives of the images and the nodes have been given them
	// containers is closed when they run: kubeadm has most of its time before it.
	containers chan struct{}
	running    sync.Once

	// byUUID are the nodes that kind makes, by the BIOS UUIDs of their VMs.
	byUUID map[string]string
	watch  *kindguest.Watch
	// disks are those of each vCenter's VMs, by its name; nil: there are no volumes.
	disks map[string]kindguest.Disks
	// folders has the directories that are volumes; "" where they are block devices.
	folders string

	// far has the addresses of light nodes.
	far farEnd

	// addresses are the vCenters' in the cluster, by name, and nsx is the NSX Manager's: known before there is one.
	addresses map[string]netip.Addr
	nsx       netip.Addr
}

// New returns the ground; nothing is made.
func New(c Config) *Ground { return &Ground{Config: c} }

// Facts implements [ground.Ground].
func (*Ground) Facts() ground.Facts {
	return ground.Facts{Cluster: api.ClusterKind}
}

// DeploysCCM implements [ground.Deployer].
func (g *Ground) DeploysCCM() bool { return g.CCM.Pods }

// Steps implements [ground.Ground]. Nodes are there before the cloud controller manager that initializes them, and faults after
// the API server: until then there is no cluster that anything could be done to.
func (g *Ground) Steps(s ground.Steps) []ground.Step {
	return []ground.Step{
		{Name: "kind cluster", Start: g.start, Stop: g.stop, NoTimeout: true},
		s.VCenters, s.NSX, s.Inventory,
		{Name: "API server", Start: g.await, NoTimeout: true},
		s.Faults, s.NodeWatch, s.LoadBalancer, s.Nodes, s.CloudConfig, s.CCM, s.CSI,
		s.Initialized, s.Volumes,
	}
}

// start finds what is needed, and begins to create the cluster. It continues while vCenters are built.
func (g *Ground) start(ctx context.Context) error {
	rt, err := kind.Detect(ctx)
	if err != nil {
		return err
	}
	g.rt = rt.Fixed(ctx) // a context that the user changes later is another daemon's
	if err := g.chooseDisks(new(disks.Loops).Supported); err != nil {
		return err
	}
	name, err := g.nodeImage(ctx, g.Image)
	if err != nil {
		return err
	}
	opts, err := g.options(name)
	if err != nil {
		return err
	}
	if g.cluster, err = kind.New(opts); err != nil {
		return err
	}
	g.openDisks(name)
	g.byUUID = map[string]string{}
	for _, n := range opts.Nodes {
		g.byUUID[strings.ToLower(n.UUID)] = n.Name
	}
	key, value := g.cluster.Label()
	g.watch = kindguest.NewWatch(g.rt, key, value)
	if err := g.number(); err != nil {
		return err
	}
	if err := g.note(name); err != nil {
		return err
	}
	g.made, g.packed, g.containers = make(chan error, 1), make(chan error, 1), make(chan struct{})
	g.Host.Go(bootGroup, func(ctx context.Context) { g.packed <- g.pack(ctx) })
	g.Host.Go(bootGroup, func(ctx context.Context) { g.made <- g.cluster.Create(ctx) })
	return nil
}

// options are those of kind, with that node image.
func (g *Ground) options(image string) (kind.Options, error) {
	nodes, err := boundTo(g.Topology, g.RealVMs)
	return kind.Options{
		Name: g.Name, Dir: g.Dir, Nodes: nodes, Image: image,
		UserConfig: g.Options.Config, UserFile: g.ConfigFile, Speed: g.Speed, Knobs: g.Knobs, Retain: g.Retain, Port: g.Port, Runtime: g.rt,
		Volumes: g.shared(), Shares: g.Topology.FileService(), Progress: g.progress, Firmware: g.Foreign != nil, Mirrors: g.Foreign != nil,
	}, err
}

// The background groups: work beside other boot steps, and watches of containers.
const (
	bootGroup  = "kind boot"
	watchGroup = "kind watch"
)

// nodeImageTime is how long it may take to find a node image. A registry has ten minutes of it for some 400 MB.
const nodeImageTime = 15 * time.Minute

// nodeImage is the image that was asked for, once it is clear that it will do, or one that is found.
func (g *Ground) nodeImage(ctx context.Context, asked string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, nodeImageTime, fmt.Errorf("node image: not there after %s", nodeImageTime))
	defer cancel()
	find := nodeimage.Finder{Store: images.Store{Runtime: g.rt}, Kubernetes: release.Kind(), Progress: g.Host.Detail, Helper: kind.ClusterName(g.Name)}
	if asked != "" {
		found, err := find.Check(ctx, asked)
		return found.Name, err
	}
	found, err := find.Find(ctx)
	return found.Name, err
}

// kindNodes are the VMs that are containers: all nodes but the light ones.
func nodesOf(top *topology.Topology) []kind.Node {
	var nodes []kind.Node
	for _, r := range top.Nodes() {
		if isLight(r.VM) {
			continue
		}
		nodes = append(nodes, kind.Node{
			Name: strings.ToLower(r.VM.Hostname), UUID: r.VM.UUID, ControlPlane: r.VM.Role == topology.RoleControlPlane,
			CPUs: int(r.VM.CPUs), MemoryBytes: uint64(r.VM.Memory),
		})
	}
	return nodes
}

// number gives each vCenter its address in the cluster, and the NSX Manager the next one.
func (g *Ground) number() (err error) {
	addresses := map[string]netip.Addr{}
	for i, vc := range g.Topology.Spec.VCenters {
		ip, err := g.cluster.ServiceIP(i)
		if err != nil {
			return err
		}
		addresses[vc.Name] = ip
	}
	g.addresses = addresses
	if g.Topology.Spec.NSX != nil {
		g.nsx, err = g.cluster.ServiceIP(len(addresses))
	}
	return err
}

// Names implements [ground.Names].
func (g *Ground) Names(vcenter string) []string {
	return []string{g.addresses[vcenter].String(), deploy.ServiceDNS(vcenter)}
}

// NSXNames implements [ground.NSXNames].
func (g *Ground) NSXNames() []string {
	return []string{g.nsx.String(), deploy.ServiceDNS(deploy.NSXManager)}
}

// pack writes archives of the images of what runs as pods, and begins to load them.
func (g *Ground) pack(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if g.images, err = image.Sandbox(ctx, self, g.Sidecars); err != nil {
		return err
	}
	if g.foreign, err = foreignCCM(ctx, g.CCM); err != nil {
		return err
	}
	for _, a := range g.archives() {
		if err := a.set.WriteFile(ctx, a.file); err != nil {
			return err
		}
	}
	if g.csi, err = g.packForeignCSI(ctx); err != nil {
		return err
	}
	select {
	case <-g.containers:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := g.bind(ctx); err != nil {
		return fmt.Errorf("addresses of the VMs: %w", err)
	}
	if err := g.load(ctx); err != nil { // what does not succeed now does when the cluster is there, or says why
		g.Logger.Info("images are loaded later", "err", err)
	}
	return nil
}

// archive is an archive of images, and the nodes that get it.
type archive struct {
	file  string
	set   *image.Set
	nodes []string
}

// archives are all images for nodes of the control plane, and for the others those of what runs everywhere.
func (g *Ground) archives() []archive {
	all := archive{file: filepath.Join(g.Dir, "images.tar"), set: g.images}
	some := archive{file: filepath.Join(g.Dir, "images-node.tar"), set: g.images.Only(image.CSI)}
	if spare := g.cluster.ExtraControlPlane(); spare != "" {
		all.nodes = append(all.nodes, spare)
	}
	for _, n := range nodesOf(g.Topology) {
		if n.ControlPlane {
			all.nodes = append(all.nodes, n.Name)
		} else {
			some.nodes = append(some.nodes, n.Name)
		}
	}
	list := []archive{all}
	if len(some.nodes) > 0 && g.Foreign == nil {
		list = append(list, some)
	}
	if g.foreign != nil {
		list = append(list, archive{file: filepath.Join(g.Dir, "images-ccm.tar"), set: g.foreign, nodes: all.nodes})
	}
	return list
}

// foreignCCM is an image of a cloud controller manager that is not ours, under the name that its manifest has for it: nodes
// then have it, and it is never pulled. Containers beside it are pulled. It is nil for our CCM, or one that is not a pod.
func foreignCCM(ctx context.Context, c CCM) (*image.Set, error) {
	if c.Path == "" || len(c.Manifest) == 0 {
		return nil, nil
	}
	name, err := deploy.CCMImage(c.Manifest)
	if err != nil {
		return nil, err
	}
	return image.FromProgram(ctx, c.Path, ccm.ProgramPath(), name)
}

// progress reports kind's progress.
func (g *Ground) progress(text string) {
	g.Host.Detail(text)
	if strings.Contains(text, "riting configuration") {
		g.running.Do(func() { close(g.containers) })
	}
}

// await returns when the cluster has what pods need: their images, and vCenters that they reach.
func (g *Ground) await(ctx context.Context) error {
	if err := g.finished(ctx); err != nil {
		return err
	}
	g.ofWhich("kind itself", g.cluster.CreateDuration())
	g.served = true
	g.Host.SetCluster(g.cluster)
	if err := g.findNetwork(ctx); err != nil {
		return err
	}
	g.Host.Detail("images of the cloud controller manager and the CSI driver into the nodes")
	begin := time.Now()
	if err := g.load(ctx); err != nil {
		return err
	}
	g.ofWhich("images that were not in the nodes by then", time.Since(begin))
	for _, a := range g.archives() {
		if err := os.Remove(a.file); err != nil {
			return err
		}
	}
	if err := g.csi.offer(ctx, g.cluster); err != nil {
		return err
	}
	d, err := deploy.New(g.cluster, deploy.Options{Speed: g.Speed, Exec: g.exec})
	if err != nil {
		return err
	}
	if err := g.expose(ctx, d); err != nil {
		d.Close()
		return err
	}
	return nil
}

// finished returns when the cluster is made and the images are packed, or as soon as one of both has failed.
func (g *Ground) finished(ctx context.Context) (err error) {
	for range 2 {
		select {
		case err = <-g.made:
			g.running.Do(func() { close(g.containers) }) // also if kind has reworded its progress
		case err = <-g.packed:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ofWhich logs how long a part of the current step took.
func (g *Ground) ofWhich(part string, took time.Duration) {
	g.Log.Append(event.Event{
		Plane: event.PlaneSandbox, Kind: "boot.step", Message: fmt.Sprintf("of which %s: %s", part, took.Round(time.Millisecond)),
	})
}

// exec runs a command in a node.
func (g *Ground) exec(ctx context.Context, node string, cmd ...string) ([]byte, error) {
	return g.cluster.Exec(ctx, node, nil, cmd...)
}

func (g *Ground) load(ctx context.Context) error {
	var errs []error
	for _, a := range g.archives() {
		_, err := g.cluster.LoadImages(ctx, a.file, a.nodes...)
		errs = append(errs, err)
	}
	for _, file := range g.Archives {
		_, err := g.cluster.LoadImages(ctx, file)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// expose has nodes and pods reach the vCenters and the NSX Manager, each at its address.
func (g *Ground) expose(ctx context.Context, d *deploy.Deployment) error {
	var endpoints []deploy.Endpoint
	open := func(name, at string, ip netip.Addr) error {
		addr, err := g.cluster.Expose(ctx, at)
		endpoints = append(endpoints, deploy.Endpoint{Name: name, Addr: addr, IP: ip})
		return err
	}
	for _, vc := range g.Host.VCenters() {
		if err := open(vc.Name, vc.Addr, g.addresses[vc.Name]); err != nil {
			return fmt.Errorf("vcenter %q: %w", vc.Name, err)
		}
	}
	if at := g.Host.NSX(); at != "" {
		if err := open(deploy.NSXManager, at, g.nsx); err != nil {
			return fmt.Errorf("NSX Manager: %w", err)
		}
	}
	reached, err := d.VCenters(ctx, endpoints)
	if err != nil {
		return err
	}
	g.Host.SetPods(d, g.images, reached)
	g.Host.Go(watchGroup, g.watch.Run)
	return nil
}

// ServesNodePorts implements [ground.NodePorts]: kube-proxy runs in every container.
func (*Ground) ServesNodePorts() bool { return true }
