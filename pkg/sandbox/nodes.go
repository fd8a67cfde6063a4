package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

type ref = types.ManagedObjectReference

// nodes gives every VM that is to be a node its kubelet, and tells the kubelet of what becomes of its VM.
type nodes struct {
	s      *Sandbox
	byUUID map[string]topology.Role
	byName map[[2]string]topology.Role // vcenter, name: a VM that was made anew has another UUID

	mu   sync.Mutex
	open bool // kubelets may start: there is an API server to register with
	vms  map[vmKey]*machine
	// bound tells which VM's kubelet has a node name, from its first boot on and beyond the VM's end: what becomes of the
	// Node object after that is still that VM's doing.
	bound map[string]bound
}

// bound is the VM behind a node.
type bound struct {
	vcenter, vm string
	role        topology.Role
}

// vmKey tells VMs apart: a moref is unique within its vCenter only.
type vmKey struct {
	vcenter string
	ref     ref
}

// machine is one VM that is a node.
type machine struct {
	vm   world.VM
	node *node.Node // nil until nodes are open
}

func newNodes(s *Sandbox) *nodes {
	n := &nodes{s: s, byUUID: map[string]topology.Role{}, byName: map[[2]string]topology.Role{}, vms: map[vmKey]*machine{}, bound: map[string]bound{}}
	for _, r := range s.opts.Topology.Nodes() {
		n.byUUID[strings.ToLower(r.VM.UUID)] = r.VM.Role
		n.byName[[2]string{r.VCenter.Name, r.VM.Name}] = r.VM.Role
	}
	return n
}

func (n *nodes) role(v world.VM) string {
	if r, ok := n.byUUID[strings.ToLower(v.UUID)]; ok {
		return string(r)
	}
	return string(n.byName[[2]string{v.VCenter, v.Name}])
}

func (n *nodes) process(v world.VM) node.Process {
	n.mu.Lock()
	defer n.mu.Unlock()
	if m := n.vms[vmKey{v.VCenter, v.Ref}]; m != nil && m.node != nil {
		p, _, _ := m.node.State()
		return p
	}
	return node.Stopped
}

// observe is told of VMs that changed, by the watch of their vCenter.
func (n *nodes) observe(_ *world.Inventory, vms []world.VM) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, v := range vms {
		key := vmKey{v.VCenter, v.Ref}
		m := n.vms[key]
		if m == nil {
			if !v.Exists || n.role(v) == "" {
				continue
			}
			m = &machine{}
			n.vms[key] = m
		}
		m.vm = v
		n.follow(m)
		if !v.Exists && m.node != nil {
			delete(n.vms, key)
			n.s.background.run("nodes", func(ctx context.Context) { n.retire(ctx, m) })
		}
	}
}

// follow tells the VM's node of it. The caller holds the lock.
func (n *nodes) follow(m *machine) {
	if !n.open {
		return
	}
	if m.node == nil {
		m.node = node.New(node.Options{
			Spec:   func(nm node.Machine) (child.Spec, error) { return n.spec(m, nm) },
			Notify: func(c child.Change) { n.notify(m, c) },
		})
	}
	m.node.Observe(m.vm.Machine())
}

// retire ends the node of a VM that is gone.
func (n *nodes) retire(ctx context.Context, m *machine) {
	if err := m.node.Stop(ctx); err != nil {
		n.s.opts.Logger.Error("node of a destroyed VM", "vm", m.vm.Name, "err", err)
	}
}

// spec writes what the kubelet of a VM needs for one boot of it.
func (n *nodes) spec(m *machine, nm node.Machine) (child.Spec, error) {
	name := strings.ToLower(nm.Hostname)
	spec := child.Spec{Name: "node/" + name}
	if err := os.MkdirAll(n.s.opts.Dir.Path("nodes", name, "kubelet"), 0o700); err != nil {
		return spec, err
	}
	// The kubelet puts sockets there, whose paths the kernel limits.
	root, err := n.s.opts.Dir.ShortPath("/pod-resources/kubelet.sock", "nodes", name, "kubelet")
	if err != nil {
		return spec, err
	}
	n.mu.Lock()
	role := topology.Role(n.role(m.vm))
	n.bound[name] = bound{vcenter: m.vm.VCenter, vm: m.vm.Name, role: role}
	n.mu.Unlock()
	image, kernel := node.OS(nm.GuestID)
	cfg := node.Config{
		Name:         name,
		RootDir:      root,
		Kubeconfig:   n.s.opts.Dir.Path("nodes", name, "kubeconfig"),
		SystemUUID:   nm.UUID,
		CPUs:         nm.CPUs,
		MemoryBytes:  nm.MemoryBytes,
		OSImage:      image,
		Kernel:       kernel,
		Speed:        n.s.opts.Speed,
		ControlPlane: role == topology.RoleControlPlane,
	}
	if err := n.s.cluster.NodeKubeconfig(cfg.Kubeconfig, name); err != nil {
		return spec, err
	}
	path := n.s.opts.Dir.Path("nodes", name, "config.json")
	if err := cfg.Write(path); err != nil {
		return spec, err
	}
	spec.Args = []string{"node", "--config=" + path}
	return n.s.components.spec(spec), nil
}

// notify records what the kubelet's process does, as the consequence of what its VM did last.
func (n *nodes) notify(m *machine, c child.Change) {
	n.mu.Lock()
	vm := m.vm
	n.mu.Unlock()
	var cause uint64
	if c.State == child.Started || c.State == child.Stopped {
		cause = n.s.lastEvent(func(e event.Event) bool {
			return e.Plane == event.PlaneVSphere && e.Object.VCenter == vm.VCenter && e.Object.Name == vm.Name
		})
	}
	if c.Name == "" {
		c.Name = "node/" + strings.ToLower(vm.Name)
	}
	n.s.components.note(c, event.Object{Kind: "Node", VCenter: vm.VCenter, Name: strings.TrimPrefix(c.Name, "node/")}, cause)
}

// behind returns the VM whose kubelet is the node of that name.
func (n *nodes) behind(node string) bound {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.bound[node]
}

// hang stops the guest of a VM; false when it does not run.
func (n *nodes) hang(v world.VM) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	m := n.vms[vmKey{v.VCenter, v.Ref}]
	return m != nil && m.node != nil && m.node.Hang()
}

func (s *Sandbox) startNodes(context.Context) error {
	n := s.nodes
	n.mu.Lock()
	defer n.mu.Unlock()
	n.open = true
	for _, m := range n.vms {
		n.follow(m)
	}
	return nil
}

func (s *Sandbox) stopNodes(ctx context.Context) error {
	n := s.nodes
	n.mu.Lock()
	n.open = false
	var wg sync.WaitGroup
	errs := make(chan error, len(n.vms))
	for _, m := range n.vms {
		if m.node != nil {
			wg.Go(func() { errs <- m.node.Stop(ctx) })
		}
	}
	n.mu.Unlock()
	wg.Wait()
	close(errs)
	var all []error
	for err := range errs {
		all = append(all, err)
	}
	return errors.Join(append(all, s.background.end(ctx, "nodes"))...)
}

// waitInitialized waits until every VM that is to be a node and is on has become one that is ready and initialized.
func (s *Sandbox) waitInitialized(ctx context.Context) error {
	for seq := s.log.Last(); ; {
		var waiting []string
		total := 0
		for _, n := range s.world.Nodes() {
			if n.Power != string(node.On) {
				continue
			}
			total++
			if !n.Registered || !n.Initialized || n.Ready != "True" || notReady(n) {
				waiting = append(waiting, n.Name)
			}
		}
		if len(waiting) == 0 {
			return nil
		}
		s.detail(fmt.Sprintf("%d of %d nodes initialized and ready; waiting for %s", total-len(waiting), total, strings.Join(waiting[:min(3, len(waiting))], ", ")))
		events, _, err := s.log.Wait(ctx, seq, 0)
		if err != nil {
			return fmt.Errorf("%s: %w", strings.Join(waiting, ", "), context.Cause(ctx))
		}
		seq = events[len(events)-1].Seq
	}
}

// notReady tells whether a node still has the taint that the node lifecycle controller takes away a moment after the
// node has become ready.
func notReady(n api.Node) bool {
	return slices.ContainsFunc(n.Taints, func(t string) bool { return strings.HasPrefix(t, corev1.TaintNodeNotReady+":") })
}

// lastEvent returns the Seq of the newest recent event that match likes, 0 when there is none.
func (s *Sandbox) lastEvent(match func(event.Event) bool) uint64 {
	const recent = 512
	last := s.log.Last()
	events, _ := s.log.Read(last-min(last, recent), 0)
	for i := len(events) - 1; i >= 0; i-- {
		if match(events[i]) && time.Since(events[i].Time) < time.Hour {
			return events[i].Seq
		}
	}
	return 0
}
