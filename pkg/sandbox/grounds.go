package sandbox

import (
	"context"
	"net"
	"net/http"
	"os"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	cp "github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/embedded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground/embedded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground/existing"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground/incluster"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/cloudconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
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
	return embedded.New(cp.Options{Name: o.Name, Dir: dir, Speed: o.Speed, Port: o.Port, Audit: o.Audit}, h)
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

// standOn sets the ground, and what depends on it.
func (s *Sandbox) standOn(g ground.Ground) {
	s.ground, s.facts = g, g.Facts()
	s.setCCM()
}

// host is the sandbox as its ground uses it.
type host struct{ s *Sandbox }

func (h host) Detail(text string) { h.s.detail(text) }

func (h host) SetCluster(c cluster.Cluster) {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	h.s.cluster = c
}

func (h host) StartControlPlane(spec child.Spec) *child.Child {
	started := child.Start(h.s.components.Spec(spec), h.s.components.Notify)
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	h.s.controlPlane = started
	return started
}

func (h host) CCMObjects() []runtime.Object {
	c, meta := h.s.opts.CCM.WithDefaults(), func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: h.s.ccmNamespace(), Name: name}
	}
	place := ccm.Place{Namespace: h.s.ccmNamespace(), Roles: h.s.facts.Namespace, Labels: h.s.facts.Labels}
	return append(place.Rights(c, c.Replicas > 1), &corev1.ConfigMap{ObjectMeta: meta(cloudconfig.ConfigMap)}, &corev1.Secret{ObjectMeta: meta(cloudconfig.Secret)})
}

func (h host) ListenOn(addresses []string) { h.s.opts.Addresses = addresses }

func (h host) SetPods(d *deploy.Deployment, images ground.Images, reached []deploy.Reached) {
	p := newPods(h.s, d, images)
	p.reach(reached)
	h.s.mu.Lock()
	h.s.pods = p
	h.s.mu.Unlock()
	h.s.watchPods()
}

func (h host) StopPods(ctx context.Context) error { return h.s.stopPods(ctx) }

func (h host) Feed() http.Handler { return h.s.light }

func (h host) LightStarted() {
	h.s.light.fleet.Program(child.Change{Name: lightComponent, State: child.Started, PID: os.Getpid()})
}

func (h host) Go(group string, f func(context.Context)) { h.s.background.Run(group, f) }

func (h host) Wait(ctx context.Context, group string) error { return h.s.background.End(ctx, group) }

func (h host) Failed(what string, err error) {
	h.s.opts.Logger.Error("failed", "what", what, "err", err)
}

func (h host) VCenters() []kind.VCenter {
	var all []kind.VCenter
	for _, vc := range h.s.vcenters {
		all = append(all, kind.VCenter{Name: vc.Name(), Addr: net.JoinHostPort(vc.Host(), strconv.Itoa(vc.Port()))})
	}
	return all
}

func (h host) Simulated(vcenter string) *sim.VCenter {
	if vc := h.s.vcenters.Find(vcenter); vc != nil {
		return vc.Sim
	}
	return nil
}

func (h host) VolumeDir(vcenter, id string) (string, bool) {
	vc := h.s.vcenters.Find(vcenter)
	if vc == nil {
		return "", false
	}
	return vc.VolumeDir(id), true
}

func (h host) Guest(vcenter string, vm ref) node.Guest {
	n := h.s.nodes
	n.mu.Lock()
	defer n.mu.Unlock()
	if m := n.vms[vmKey{vcenter, vm}]; m != nil {
		return m.node
	}
	return nil
}

func (h host) Exists(vcenter string, vm ref) bool {
	h.s.nodes.mu.Lock()
	defer h.s.nodes.mu.Unlock()
	return h.s.nodes.vms[vmKey{vcenter, vm}] != nil
}

func (h host) BootFailed() bool {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	return h.s.phase == api.Stopping && h.s.readyAt.IsZero()
}

// vmNode is a VM that is a node, as a ground uses it. It implements [ground.Node].
type vmNode struct {
	n *nodes
	m *machine
}

func (v vmNode) VM() world.VM { return v.m.vm }

func (v vmNode) Current() world.VM {
	v.n.mu.Lock()
	defer v.n.mu.Unlock()
	return v.m.vm
}

func (v vmNode) IsLight() bool { return v.n.s.light.has(v.m.vm) }

func (v vmNode) Claim(name string) string {
	component, _ := v.n.claimed(v.m, name)
	return component
}

func (v vmNode) Kubelet() node.Guest { return v.n.hollow(v.m) }

func (v vmNode) LightGuest(first func() error) node.Guest { return v.n.s.light.guest(v.m, first) }

func (v vmNode) Notify(c child.Change) { v.n.notify(v.m, c) }

// ccmNamespace is where the cloud controller manager's account, configuration, credentials and Lease are.
func (s *Sandbox) ccmNamespace() string {
	if s.facts.Namespace != "" {
		return s.facts.Namespace
	}
	return cloudconfig.Namespace
}
