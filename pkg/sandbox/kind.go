package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/image"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/images"
	kindmachine "github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/machine"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/machine/disks"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/nodeimage"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// kindCluster is a cluster that kind makes: see [Kind].
type kindCluster struct {
	s *Sandbox

	rt      *runtime.Runtime
	cluster *kind.Cluster
	made    chan error // gets one value
	images  *image.Set
	csi     *kindCSI   // a CSI driver that is not ours; nil for none
	foreign *image.Set // a cloud controller manager that is not ours; nil for none
	packed  chan error // gets one value, when there are archives of the images and the nodes have been given them
	// containers is closed when they run: kubeadm has most of its time before it.
	containers chan struct{}
	running    sync.Once

	// byUUID are the nodes that kind makes, by the BIOS UUIDs of their VMs.
	byUUID map[string]string
	watch  *kindmachine.Watch
	// disks are those of each vCenter's VMs, by its name; nil: there are no volumes.
	disks map[string]kindmachine.Disks
	// folders has the directories that are volumes; "" where they are block devices.
	folders string

	// far has the addresses of light nodes.
	far farEnd

	// addresses are the vCenters' in the cluster, by name: known before there is one.
	addresses map[string]netip.Addr
}

func (*kindCluster) component() string { return "kind cluster" }
func (*kindCluster) patient() bool     { return true }
func (*kindCluster) podded() bool      { return true }

// start finds what is needed, and has the cluster made: that goes on while vCenters are built.
func (k *kindCluster) start(ctx context.Context) error {
	s, o := k.s, k.s.opts.Cluster.Kind
	rt, err := kind.Detect(ctx)
	if err != nil {
		return err
	}
	k.rt = rt.Fixed(ctx) // a context that the user changes later is another daemon's
	if err := k.chooseDisks(new(disks.Loops).Possible); err != nil {
		return err
	}
	name, err := k.nodeImage(ctx, o.Image)
	if err != nil {
		return err
	}
	nodes, err := boundTo(s.opts.Topology, s.opts.Real != nil)
	if err != nil {
		return err
	}
	opts := kind.Options{
		Name: s.opts.Name, Dir: s.opts.Dir.Path(), Nodes: nodes, Image: name,
		UserConfig: o.Config, UserFile: o.ConfigFile, Speed: s.opts.Speed, Retain: o.Retain, Port: s.opts.Port, Runtime: k.rt,
		Volumes: k.folders, Progress: k.progress, Firmware: s.opts.CSI.Foreign != nil, Mirrors: s.opts.CSI.Foreign != nil,
	}
	if k.cluster, err = kind.New(opts); err != nil {
		return err
	}
	k.openDisks(name)
	k.byUUID = map[string]string{}
	for _, n := range opts.Nodes {
		k.byUUID[strings.ToLower(n.UUID)] = n.Name
	}
	key, value := k.cluster.Label()
	k.watch = kindmachine.NewWatch(k.rt, key, value)
	if err := k.number(); err != nil {
		return err
	}
	if err := k.note(name); err != nil {
		return err
	}
	k.made, k.packed, k.containers = make(chan error, 1), make(chan error, 1), make(chan struct{})
	s.background.Run(kindBoot, func(ctx context.Context) { k.packed <- k.pack(ctx) })
	s.background.Run(kindBoot, func(ctx context.Context) { k.made <- k.cluster.Create(ctx) })
	return nil
}

// kindBoot is the background group of what is done while other steps go on.
const kindBoot = "kind boot"

// nodeImageTime is how long it may take to find a node image. A registry has ten minutes of it for some 400 MB.
const nodeImageTime = 15 * time.Minute

// nodeImage is the image that was asked for, once it is clear that it will do, or one that is found.
func (k *kindCluster) nodeImage(ctx context.Context, asked string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, nodeImageTime, fmt.Errorf("node image: not there after %s", nodeImageTime))
	defer cancel()
	find := nodeimage.Finder{Store: images.Store{Runtime: k.rt}, Kubernetes: build.Kubernetes(), Say: k.s.detail, Helper: kind.ClusterName(k.s.opts.Name)}
	if asked != "" {
		found, err := find.Check(ctx, asked)
		return found.Name, err
	}
	found, err := find.Find(ctx)
	return found.Name, err
}

// kindNodes are the VMs that are containers: all nodes but the light ones.
func kindNodes(top *topology.Topology) []kind.Node {
	var nodes []kind.Node
	for _, r := range top.Nodes() {
		if lightOnKind(r.VM) {
			continue
		}
		nodes = append(nodes, kind.Node{
			Name: strings.ToLower(r.VM.Hostname), UUID: r.VM.UUID, ControlPlane: r.VM.Role == topology.RoleControlPlane,
			CPUs: int(r.VM.CPUs), MemoryBytes: uint64(r.VM.Memory),
		})
	}
	return nodes
}

// number gives each vCenter its address in the cluster.
func (k *kindCluster) number() error {
	addresses := map[string]netip.Addr{}
	for i, vc := range k.s.opts.Topology.Spec.VCenters {
		ip, err := k.cluster.ServiceIP(i)
		if err != nil {
			return err
		}
		addresses[vc.Name] = ip
	}
	k.addresses = addresses
	return nil
}

func (k *kindCluster) names(vcenter string) []string {
	return []string{k.addresses[vcenter].String(), deploy.ServiceDNS(vcenter)}
}

// pack writes archives of the images of what runs as pods, and begins to load them.
func (k *kindCluster) pack(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if k.images, err = image.Sandbox(ctx, self, k.s.opts.CSI.Sidecars); err != nil {
		return err
	}
	if k.foreign, err = foreignCCM(ctx, k.s.opts.CCM); err != nil {
		return err
	}
	for _, a := range k.archives() {
		if err := a.set.WriteFile(ctx, a.file); err != nil {
			return err
		}
	}
	if k.csi, err = k.packForeignCSI(ctx); err != nil {
		return err
	}
	select {
	case <-k.containers:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := k.bind(ctx); err != nil {
		return fmt.Errorf("addresses of the VMs: %w", err)
	}
	if err := k.load(ctx); err != nil { // what does not succeed now does when the cluster is there, or says why
		k.s.opts.Logger.Info("images are loaded later", "err", err)
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
func (k *kindCluster) archives() []archive {
	all := archive{file: k.s.opts.Dir.Path("images.tar"), set: k.images}
	some := archive{file: k.s.opts.Dir.Path("images-node.tar"), set: k.images.Only(image.CSI)}
	if spare := k.cluster.Spare(); spare != "" {
		all.nodes = append(all.nodes, spare)
	}
	for _, n := range kindNodes(k.s.opts.Topology) {
		if n.ControlPlane {
			all.nodes = append(all.nodes, n.Name)
		} else {
			some.nodes = append(some.nodes, n.Name)
		}
	}
	list := []archive{all}
	if len(some.nodes) > 0 && k.s.opts.CSI.Foreign == nil {
		list = append(list, some)
	}
	if k.foreign != nil {
		list = append(list, archive{file: k.s.opts.Dir.Path("images-ccm.tar"), set: k.foreign, nodes: all.nodes})
	}
	return list
}

// foreignCCM is an image of a cloud controller manager that is not ours, under the name that its manifest has for it: nodes
// then have it, and nobody pulls it. What runs beside it is pulled. nil when it is ours, or is no pod.
func foreignCCM(ctx context.Context, c CCM) (*image.Set, error) {
	if c.Program.Path == "" || len(c.Manifest) == 0 {
		return nil, nil
	}
	name, err := deploy.CCMImage(c.Manifest)
	if err != nil {
		return nil, err
	}
	return image.FromProgram(ctx, c.Program.Path, ccm.ProgramPath, name)
}

// progress tells what kind is at.
func (k *kindCluster) progress(text string) {
	k.s.detail(text)
	if strings.Contains(text, "riting configuration") {
		k.running.Do(func() { close(k.containers) })
	}
}

// await returns when the cluster has what pods need: their images, and vCenters that they reach.
func (k *kindCluster) await(ctx context.Context) error {
	if err := k.finished(ctx); err != nil {
		return err
	}
	s := k.s
	k.ofWhich("kind itself", k.cluster.Took())
	s.mu.Lock()
	s.cluster = k.cluster
	s.mu.Unlock()
	if err := k.findNetwork(ctx); err != nil {
		return err
	}
	s.detail("images of the cloud controller manager and the CSI driver into the nodes")
	begin := time.Now()
	if err := k.load(ctx); err != nil {
		return err
	}
	k.ofWhich("images that were not in the nodes by then", time.Since(begin))
	for _, a := range k.archives() {
		if err := os.Remove(a.file); err != nil {
			return err
		}
	}
	if err := k.csi.offer(ctx, k.cluster); err != nil {
		return err
	}
	d, err := deploy.New(k.cluster, deploy.Options{Speed: s.opts.Speed, Exec: k.exec})
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.pods = newPods(s, d, k.images)
	s.mu.Unlock()
	return k.expose(ctx, d)
}

// finished returns when the cluster is made and the images are packed, or as soon as one of both has failed.
func (k *kindCluster) finished(ctx context.Context) (err error) {
	for range 2 {
		select {
		case err = <-k.made:
			k.running.Do(func() { close(k.containers) }) // whatever kind has called it
		case err = <-k.packed:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ofWhich notes what a part of the step that goes on has taken.
func (k *kindCluster) ofWhich(part string, took time.Duration) {
	k.s.log.Append(event.Event{
		Plane: event.PlaneSandbox, Kind: "boot.step", Message: fmt.Sprintf("of which %s: %s", part, took.Round(time.Millisecond)),
	})
}

// exec runs a command in a node.
func (k *kindCluster) exec(ctx context.Context, node string, cmd ...string) ([]byte, error) {
	return k.cluster.Exec(ctx, node, nil, cmd...)
}

func (k *kindCluster) load(ctx context.Context) error {
	var errs []error
	for _, a := range k.archives() {
		_, err := k.cluster.LoadImages(ctx, a.file, a.nodes...)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// expose has nodes and pods reach the vCenters, each at its address.
func (k *kindCluster) expose(ctx context.Context, d *deploy.Deployment) error {
	var endpoints []deploy.Endpoint
	for _, vc := range k.s.vcenters {
		addr, err := k.cluster.Expose(ctx, net.JoinHostPort(vc.Host(), strconv.Itoa(vc.Port())))
		if err != nil {
			return fmt.Errorf("vcenter %q: %w", vc.Name(), err)
		}
		endpoints = append(endpoints, deploy.Endpoint{Name: vc.Name(), Addr: addr, IP: k.addresses[vc.Name()]})
	}
	reached, err := d.VCenters(ctx, endpoints)
	if err != nil {
		return err
	}
	k.s.pods.reach(reached)
	k.s.watchPods()
	k.s.background.Run(podWatch, k.watch.Run)
	return nil
}

func (k *kindCluster) waitVolumes(ctx context.Context) error { return k.s.waitCSIPods(ctx) }
