package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/embedded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/objects"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/boot"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

type ref = types.ManagedObjectReference

// nodes gives every VM that is to be a node its kubelet, and tells the kubelet of what becomes of its VM.
type nodes struct {
	s *Sandbox

	roles  sync.Mutex // guards the maps
	byUUID map[string]topology.Role
	byPath map[[2]string]topology.Role // vcenter, inventory path: a VM that was made anew has another UUID

	mu   sync.Mutex
	open bool // kubelets may start: there is an API server to register with
	vms  map[vmKey]*machine
	// bound tells which VM's kubelet has a node name, from its first boot on and beyond the VM's end: what becomes of the
	// Node object after that is still that VM's doing. Of two VMs that claim one name it is the first.
	bound map[string]bound
}

// bound is the VM behind a node.
type bound struct {
	key         vmKey
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
	node node.Guest // nil until nodes are open
	// component is the name of its kubelet's process; "" before the first boot.
	component string
}

func newNodes(s *Sandbox) *nodes {
	n := &nodes{s: s, byUUID: map[string]topology.Role{}, byPath: map[[2]string]topology.Role{}, vms: map[vmKey]*machine{}, bound: map[string]bound{}}
	n.assign(s.opts.Topology, nil)
	return n
}

// Role is the role that a VM should have in the cluster, "" for none; it implements [world.Roles].
func (n *nodes) Role(v world.VM) string {
	n.roles.Lock()
	defer n.roles.Unlock()
	if r, ok := n.byUUID[strings.ToLower(v.UUID)]; ok {
		return string(r)
	}
	if _, r, ok := n.sourced(v); ok {
		return string(r)
	}
	return string(n.byPath[[2]string{v.VCenter, v.Path}])
}

// Process is the state of the kubelet of a VM; it implements [world.Roles].
func (n *nodes) Process(v world.VM) node.Process {
	if n.s.facts.Nodes == api.NodesReal {
		return "" // it is not known
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if m := n.vms[vmKey{v.VCenter, v.Ref}]; m != nil && m.node != nil {
		p, _, _ := m.node.State()
		return p
	}
	return node.Stopped
}

// observe follows VMs that have changed, by the watch of their vCenter.
func (n *nodes) observe(vms []world.VM) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, v := range vms {
		key := vmKey{v.VCenter, v.Ref}
		m := n.vms[key]
		if m == nil {
			if !v.Exists || n.Role(v) == "" {
				continue
			}
			m = &machine{}
			n.vms[key] = m
		}
		m.vm = v
		if name, role, ok := n.sourced(v); ok {
			n.call(m, name, role)
		}
		n.follow(m)
		if !v.Exists && m.node != nil {
			delete(n.vms, key)
			n.s.background.Run("nodes", func(ctx context.Context) { n.retire(ctx, m) })
		}
	}
}

// follow tells the VM's node of it. The caller holds the lock.
func (n *nodes) follow(m *machine) {
	if !n.open {
		return
	}
	if m.node == nil {
		m.node = n.s.ground.Guest(vmNode{n, m})
	}
	m.node.Observe(m.vm.Machine())
}

// hollow is a kubelet in a process of its own.
func (n *nodes) hollow(m *machine) node.Guest {
	return node.New(node.Options{
		Links:  n.s.links(m),
		Spec:   func(nm node.Machine) (child.Spec, error) { return n.spec(m, nm) },
		Notify: func(c child.Change) { n.notify(m, c) },
	})
}

// retire ends the node of a VM that is gone, and takes its disk away, so to speak: a later VM inherits nothing.
func (n *nodes) retire(ctx context.Context, m *machine) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), boot.StopTimeout)
	defer cancel()
	err := m.node.Stop(ctx)
	if err == nil {
		err = errors.Join(os.RemoveAll(n.dir(m)), n.s.proxies.Drop(n.wire(m)))
	}
	if err != nil {
		n.s.opts.Logger.Error("node of a destroyed VM", "vm", m.vm.Name, "err", err)
	}
}

// dir is the directory of a VM's kubelet. It is called after the VM, not after the node: a guest may say any hostname.
func (n *nodes) dir(m *machine) string {
	return n.s.opts.Dir.Path("nodes", m.vm.VCenter+"."+m.vm.Ref.Value)
}

// wire is what the way of a VM's kubelet to the API server is called: after the VM, too, so that what is left of one does
// not meet a new one of the same hostname.
func (n *nodes) wire(m *machine) string { return "node/" + filepath.Base(n.dir(m)) }

// claim gives the VM the node name that its guest says, and returns the name of the component: that of the node, unless
// another VM has it already.
func (n *nodes) claim(m *machine, name string) (component string, role topology.Role) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.claimed(m, name)
}

// claimed is claim for whoever holds the lock.
func (n *nodes) claimed(m *machine, name string) (component string, role topology.Role) {
	key := vmKey{m.vm.VCenter, m.vm.Ref}
	role = topology.Role(n.Role(m.vm))
	m.component = "node/" + name
	if other, taken := n.bound[name]; taken && other.key != key && n.vms[other.key] != nil {
		m.component += "@" + m.vm.VCenter + "." + m.vm.Ref.Value
	} else {
		n.bound[name] = bound{key: key, vcenter: m.vm.VCenter, vm: m.vm.Name, role: role}
	}
	return m.component, role
}

// spec writes what the kubelet of a VM needs for one boot of it.
func (n *nodes) spec(m *machine, nm node.Machine) (child.Spec, error) {
	name := strings.ToLower(nm.Hostname)
	if bad := validation.IsDNS1123Subdomain(name); len(bad) > 0 {
		return child.Spec{Name: "node/" + m.vm.Name}, fmt.Errorf("hostname %q of vm %q: no name for a node: %s", nm.Hostname, m.vm.Name, bad[0])
	}
	component, role := n.claim(m, name)
	spec := child.Spec{Name: component}
	dir := n.dir(m)
	if err := os.MkdirAll(filepath.Join(dir, "kubelet"), 0o700); err != nil {
		return spec, err
	}
	// The kubelet puts sockets there, whose paths the kernel limits.
	root, err := n.s.opts.Dir.ShortPath(node.LongestSocket, "nodes", filepath.Base(dir), "kubelet")
	if err != nil {
		return spec, err
	}
	image, kernel := node.OS(nm.GuestID)
	cfg := node.Config{
		Name:         name,
		RootDir:      root,
		Kubeconfig:   filepath.Join(dir, "kubeconfig"),
		SystemUUID:   nm.UUID,
		CPUs:         nm.CPUs,
		MemoryBytes:  nm.MemoryBytes,
		OSImage:      image,
		Kernel:       kernel,
		Speed:        n.s.opts.Speed,
		ControlPlane: role == topology.RoleControlPlane,
	}
	if n.s.opts.CSI.Enabled {
		cfg.CSI = &node.CSIConfig{ByIDDir: byID(dir), Kubeconfig: filepath.Join(dir, "csi.kubeconfig"), Boot: nm.BootTime.UTC().Format(time.RFC3339Nano)}
	}
	addr, err := n.s.proxies.Addr(n.wire(m))
	if err != nil {
		return spec, err
	}
	if err := n.s.cluster.(*embedded.Cluster).Via(addr).Node(cfg.Kubeconfig, name); err != nil {
		return spec, err
	}
	if cfg.CSI != nil {
		if err := n.s.cluster.Token(cfg.CSI.Kubeconfig, addr, n.s.csi.Account(objects.Node).File); err != nil {
			return spec, err
		}
	}
	path := filepath.Join(dir, "config.json")
	if err := cfg.Write(path); err != nil {
		return spec, err
	}
	spec.Args = []string{"node", "--config=" + path}
	return n.s.components.Spec(spec), nil
}

// notify records what the kubelet's process does, as the consequence of what its VM did last.
func (n *nodes) notify(m *machine, c child.Change) {
	n.mu.Lock()
	vm := m.vm
	n.mu.Unlock()
	about := func(e event.Event) bool { return e.Object.VCenter == vm.VCenter && e.Object.Name == vm.Name }
	cause := n.s.causes.OfProcess(c.State, about)
	if c.Name == "" {
		c.Name = "node/" + strings.ToLower(vm.Name)
	}
	n.s.components.Note(c, event.Object{Kind: "Node", VCenter: vm.VCenter, Name: strings.TrimPrefix(c.Name, "node/")}, cause)
}

// describe sets the state of kubelets that are stopped: suspended with their VM, or hung.
func (n *nodes) describe(rows []api.Component) {
	n.mu.Lock()
	defer n.mu.Unlock()
	stopped := map[string]node.Process{}
	for _, m := range n.vms {
		if m.node == nil {
			continue
		}
		if p, _, _ := m.node.State(); p == node.Paused || p == node.Hung {
			stopped[m.component] = p
		}
	}
	for i := range rows {
		if p, ok := stopped[rows[i].Name]; ok {
			rows[i].State = string(p)
		}
	}
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
	n.followDeaths()
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
	var guests []node.Guest
	for _, m := range n.vms {
		if m.node != nil {
			guests = append(guests, m.node)
		}
	}
	n.mu.Unlock()
	err := s.light.stop(ctx) // first: it must not take the stop of a guest for that of its VM
	errs := make([]error, len(guests))
	var wg sync.WaitGroup
	for i, g := range guests {
		wg.Go(func() { errs[i] = g.Stop(ctx) })
	}
	wg.Wait()
	return errors.Join(append(errs, err, s.background.End(ctx, "nodes"))...)
}
