package sandbox

import (
	"context"
	"net"
	"net/http"
	"path/filepath"
	"strconv"

	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	cp "github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/embedded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/objects"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground/embedded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground/existing"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground/incluster"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/cloudconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/snapshot"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters/real"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters/simulated"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	sv "github.com/vsphere-sandbox/vsphere-sandbox/pkg/supervisor"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// newGround is the ground that the options choose. Nothing else asks which one that is.
func (s *Sandbox) newGround() ground.Ground {
	o, h, dir := &s.opts, host{s}, ""
	if o.Dir != nil {
		dir = o.Dir.Path()
	}
	switch c := o.Cluster; {
	case o.VCentersOnly:
		return ground.None{}
	case c.Kind != nil:
		k := o.kind(dir)
		k.Log, k.Host = s.log, h
		return kind.New(k)
	case c.InCluster != nil:
		return incluster.New(incluster.Config{
			Options: *c.InCluster, Sandbox: o.Name, Dir: dir, Socket: func() string { return o.Dir.SocketPath() }, Topology: o.Topology, Speed: o.Speed, CCM: ccm.Command, Host: h,
		})
	case c.Existing != nil:
		return existing.New(existing.Config{
			Options: *c.Existing, Name: o.Name, Dir: dir, Topology: o.Topology, ReadOnly: o.CCM.None, Log: s.log, Host: h,
		})
	}
	control := cp.Options{
		Name: o.Name, Dir: dir, Speed: o.Speed, Port: o.Port, Audit: o.Audit, Knobs: o.Cluster.Kubernetes.Knobs, Supervisor: o.Topology != nil && o.Topology.Spec.Supervisor != nil,
	}
	if control.Supervisor {
		control.Definitions = sv.Definitions()
		if o.Topology.Spec.Supervisor.Network == topology.NetworkVPC { // NSX gives nodes their networks of pods
			control.Knobs.ControllerManager = append([]string{"controllers=*,-node-ipam-controller"}, control.Knobs.ControllerManager...)
		}
	}
	if o.From != nil {
		control.Objects = filepath.Join(o.From.Path, snapshot.Objects)
	}
	return embedded.New(embedded.Config{
		Options:  control,
		Instance: o.Dir, Kubernetes: o.Cluster.Kubernetes.Path, Kubelets: o.kubelets(), CSI: o.CSI.Enabled, Logger: o.Logger, Host: h,
	})
}

// kind is what kind makes the cluster of in that directory.
func (o *Options) kind(dir string) kind.Config {
	program := o.CCM.WithDefaults()
	return kind.Config{
		Options: *o.Cluster.Kind, Name: o.Name, Dir: dir, Topology: o.Topology, Speed: o.Speed, Port: o.Port, RealVMs: o.Real != nil,
		CCM: kind.CCM{Name: program.Name(), Pods: program.HasImage(), Path: o.CCM.Program.Path, Manifest: o.CCM.Manifest},
		CSI: o.CSI.Enabled, Sidecars: o.CSI.Sidecars, Foreign: o.CSI.Foreign, Logger: o.Logger,
	}
}

// KindPlan is [kind.Plan] for a sandbox with these options and that directory.
func KindPlan(ctx context.Context, o Options, dir string) (config []byte, steps []string, err error) {
	return kind.Plan(ctx, o.kind(dir))
}

// sourced returns the ground when its cluster decides which VMs are Nodes.
func (s *Sandbox) sourced() (ground.NodeSource, bool) {
	g, ok := s.ground.(ground.NodeSource)
	return g, ok
}

// guarded returns why the sandbox must not change the cluster; nil when it may.
func (s *Sandbox) guarded() error {
	if g, ok := s.ground.(ground.Guarded); ok {
		return g.Guard()
	}
	return nil
}

// source provides the vCenters that the options choose.
func (o *Options) source() vcenters.Source {
	if o.Real != nil {
		return real.New(o.Real)
	}
	return simulated.New(simulated.Options{Saved: o.Saved, Login: o.Login, Vcsim: o.Vcsim})
}

// host is the sandbox as its ground uses it.
type host struct{ s *Sandbox }

func (h host) Detail(text string) { h.s.boot.Detail(text) }

func (h host) SetCluster(c cluster.Cluster) {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	h.s.cluster = c
}

func (h host) StartControlPlane(spec child.Spec) *child.Child {
	return h.s.processes.StartControlPlane(spec)
}

func (h host) CCMObjects() []runtime.Object {
	c, place := h.s.opts.CCM.WithDefaults(), h.s.ccmPlace()
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: place.Namespace, Name: name} }
	return append(place.Rights(c, c.Replicas > 1), &corev1.ConfigMap{ObjectMeta: meta(cloudconfig.ConfigMap)}, &corev1.Secret{ObjectMeta: meta(cloudconfig.Secret)})
}

func (h host) ListenOn(addresses []string) { h.s.opts.Place.Addresses = addresses }

func (h host) SetPods(d *deploy.Deployment, images ground.Images, reached []deploy.PodEndpoint) {
	h.s.pods.Start(d, images.Name, reached)
}

func (h host) StopPods(ctx context.Context) error { return h.s.pods.Stop(ctx) }

func (h host) Feed() http.Handler { return h.s.nodes.Feed() }

func (h host) LightStarted() { h.s.nodes.LightStarted() }

func (h host) Go(group string, f func(context.Context)) { h.s.background.Run(group, f) }

func (h host) Wait(ctx context.Context, group string) error { return h.s.background.End(ctx, group) }

func (h host) Failed(what string, err error) {
	h.s.opts.Logger.Error("failed", "what", what, "err", err)
}

func (h host) VCenters() []kind.VCenter {
	var all []kind.VCenter
	for _, vc := range vcentersOf(h.s) {
		all = append(all, kind.VCenter{Name: vc.Name(), Addr: net.JoinHostPort(vc.Host(), strconv.Itoa(vc.Port()))})
	}
	return all
}

func (h host) NSX() string {
	if m := h.s.nsx.Manager(); m != nil && h.s.opts.LoadBalancer == LoadBalancerNSX {
		return m.Addr()
	}
	return ""
}

func (h host) Simulated(vcenter string) *sim.VCenter {
	if vc := vcentersOf(h.s).Find(vcenter); vc != nil {
		return vc.Simulator()
	}
	return nil
}

func (h host) VolumeDir(vcenter, id string) (string, bool) {
	vc := vcentersOf(h.s).Find(vcenter)
	if vc == nil {
		return "", false
	}
	return vc.VolumeDir(id), true
}

func (h host) Guest(vcenter string, vm types.ManagedObjectReference) node.Guest {
	return h.s.nodes.Guest(world.VMKey{VCenter: vcenter, Ref: vm})
}

func (h host) Exists(vcenter string, vm types.ManagedObjectReference) bool {
	return h.s.nodes.Has(world.VMKey{VCenter: vcenter, Ref: vm})
}

func (h host) Child(spec child.Spec) child.Spec { return h.s.components.Spec(spec) }

func (h host) Proxy(name string) (addr string, err error) { return h.s.proxies.Addr(name) }

func (h host) Kubelet(host string) (embedded.Kubelet, error) {
	k, err := h.s.nodes.KubeletAt(host)
	if err != nil {
		return embedded.Kubelet{}, err
	}
	process, _, _ := k.State()
	return embedded.Kubelet{Node: k.Node, Addresses: k.Addresses, VM: k.Now, Process: process, Light: k.Light, Dir: k.Dir, Proxy: h.s.proxies.Find(k.Proxy)}, nil
}

func (h host) DriverToken() string { return h.s.csi.Account(objects.Node).File }

func (h host) DriverService() string { return h.s.csi.NodeService() }

func (h host) BootFailed() bool { return h.s.boot.Failed() }

// kubelets returns the programs of VMs that do not have the cluster's.
func (o *Options) kubelets() map[embedded.VM]string {
	paths := map[embedded.VM]string{}
	if o.Topology == nil {
		return paths
	}
	for ref := range o.Topology.AllVMs() {
		if path := o.Cluster.Kubernetes.Kubelets[ref.VM.Kubelet]; path != "" {
			paths[embedded.VM{VCenter: ref.VCenter.Name, Name: ref.VM.Name}] = path
		}
	}
	return paths
}
