// Package nodes keeps the VMs that are Nodes: the role of each, the name of its Node, and the guest that follows the VM. The
// ground of the sandbox decides what a guest is.
//
// Floor 3.
package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/client-go/kubernetes"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/accounts"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/background"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/causality"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/components"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Options are what the nodes need of their sandbox. All are mandatory. A function is called when its result is needed, and may
// return nil before that.
type Options struct {
	Ground   func() ground.Ground
	Topology *topology.Topology
	VCenters func() vcenters.List
	World    func() *world.World
	Cluster  func() cluster.Cluster

	Dir        *instance.Dir
	Speed      pace.Speed
	Log        *event.Log
	Logger     *slog.Logger
	Causes     *causality.Finder
	Components *components.Registry
	Proxies    *components.Proxies
	Tokens     *accounts.Tokens
	Background *background.Groups
}

// group is the background group of guests that end.
const group = "nodes"

// stopTime bounds the end of one guest.
const stopTime = 5 * time.Second

// Nodes gives every VM that is a Node its guest, which follows the VM. Make it with [New]; its methods may be called from any
// goroutine.
type Nodes struct {
	Options
	light light

	roles  sync.Mutex // guards the maps
	byUUID map[string]topology.Role
	byPath map[[2]string]topology.Role // vcenter, inventory path: a VM that was created again has another UUID
	// clones has the rules of templates, by vCenter and the template's UUID.
	clones map[[2]string]topology.Clones

	mu   sync.Mutex
	open bool // guests may start: there is an API server to register with
	vms  map[world.VMKey]*member
	// bound has the VM of each node name, from the first boot on and beyond the end of the VM: what happens to the Node
	// object after that has its cause there. Of two VMs with one name it is the first.
	bound map[string]Bound
}

// Bound is the VM of a Node. The zero value is none.
type Bound struct {
	Key  world.VMKey
	VM   string // its name
	Role topology.Role
}

// New returns the nodes of a sandbox; no guest starts before [Nodes.Start].
func New(o Options) *Nodes {
	n := &Nodes{Options: o, byUUID: map[string]topology.Role{}, byPath: map[[2]string]topology.Role{}, vms: map[world.VMKey]*member{}, bound: map[string]Bound{}}
	n.light.init(n)
	n.Assign(o.Topology, nil)
	return n
}

// client returns a client of the cluster.
func (n *Nodes) client() kubernetes.Interface { return n.Cluster().Client() }

// Process returns the state of the guest's process; it implements [world.Roles].
func (n *Nodes) Process(v world.VM) node.Process {
	if _, ok := n.source(); ok {
		return "" // unknown
	}
	if g := n.Guest(v.Key()); g != nil {
		p, _, _ := g.State()
		return p
	}
	return node.Stopped
}

// Guest returns the guest of a VM, nil for none.
func (n *Nodes) Guest(vm world.VMKey) node.Guest {
	n.mu.Lock()
	defer n.mu.Unlock()
	if m := n.vms[vm]; m != nil {
		return m.guest
	}
	return nil
}

// Has reports whether a VM is a Node.
func (n *Nodes) Has(vm world.VMKey) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.vms[vm] != nil
}

// Observe follows the changes of VMs.
func (n *Nodes) Observe(vms []world.VM) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, v := range vms {
		key := v.Key()
		m := n.vms[key]
		if m == nil {
			if !v.Exists || n.Role(v) == "" {
				continue
			}
			m = &member{n: n}
			n.vms[key] = m
		}
		m.vm = v
		if len(v.Addresses) > 0 {
			m.addresses = v.Addresses
		}
		if name, role, ok := n.sourced(v); ok {
			n.bind(m, name, role)
		}
		n.follow(m)
		if !v.Exists && m.guest != nil {
			delete(n.vms, key)
			n.Background.Run(group, func(ctx context.Context) { n.retire(ctx, m) })
		}
	}
}

// follow passes the state of the VM to its guest. The caller holds the lock.
func (n *Nodes) follow(m *member) {
	if !n.open {
		return
	}
	if m.guest == nil {
		m.guest = n.Ground().Guest(m)
	}
	m.guest.Observe(m.vm.NodeVM())
}

// retire ends the guest of a VM that is gone and removes its files, so that a later VM does not get them.
func (n *Nodes) retire(ctx context.Context, m *member) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	err := m.guest.Stop(ctx)
	if err == nil {
		err = errors.Join(os.RemoveAll(m.Dir()), n.Proxies.Drop(m.Proxy()))
	}
	if err != nil {
		n.Logger.Error("node of a destroyed VM", "vm", m.vm.Name, "err", err)
	}
}

// Describe sets the state of components whose process is suspended with its VM, or hung.
func (n *Nodes) Describe(rows []api.Component) {
	n.mu.Lock()
	defer n.mu.Unlock()
	stopped := map[string]string{}
	for _, m := range n.vms {
		if m.guest == nil {
			continue
		}
		if p, _, _ := m.guest.State(); p == node.Paused || p == node.Hung {
			stopped[m.component] = string(p)
		}
	}
	for i := range rows {
		rows[i].State = cmp.Or(stopped[rows[i].Name], rows[i].State)
	}
}

// Hang stops the guest of a VM; false when it does not run.
func (n *Nodes) Hang(v world.VM) bool {
	g := n.Guest(v.Key())
	return g != nil && g.Hang()
}

// Start starts the guests. A VM that dies with its host takes its guest with it at once, because the vCenter cannot report
// that; on a host that is only disconnected guests keep running.
func (n *Nodes) Start(context.Context) error {
	for _, vc := range n.VCenters() {
		vc.OnDied(func(vm types.ManagedObjectReference, _ uint64) {
			if g := n.Guest(world.VMKey{VCenter: vc.Name(), Ref: vm}); g != nil {
				g.Die()
			}
		})
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.open = true
	for _, m := range n.vms {
		n.follow(m)
	}
	return nil
}

// Stop stops the guests, after the program of light nodes: that must not take the stop of a guest for that of its VM.
func (n *Nodes) Stop(ctx context.Context) error {
	n.mu.Lock()
	n.open = false
	var guests []node.Guest
	for _, m := range n.vms {
		if m.guest != nil {
			guests = append(guests, m.guest)
		}
	}
	n.mu.Unlock()
	err := n.light.stop(ctx)
	errs := make([]error, len(guests))
	var wg sync.WaitGroup
	for i, g := range guests {
		wg.Go(func() { errs[i] = g.Stop(ctx) })
	}
	wg.Wait()
	return errors.Join(append(errs, err, n.Background.End(ctx, group))...)
}

// Reset forgets all VMs and their guests, which have been stopped: other VMs take their place, and [Nodes.Start] can be called again.
func (n *Nodes) Reset() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.vms, n.bound = map[world.VMKey]*member{}, map[string]Bound{}
	n.light.reset()
}

// Kubelet is the guest of a Node as faults and the API server see it.
type Kubelet struct {
	node.Guest
	Bound
	// Now is the VM's present state, Light whether the Node is a light one.
	Now   world.VM
	Light bool
	// Node is the name of the Node, Addresses are those of the VM, or the last ones when its guest does not run.
	Node      string
	Addresses []string
	// Component is the name of its process, Proxy that of its proxy to the API server, Dir its directory.
	Component, Proxy, Dir string
}

// Kubelet returns the guest of the Node with that name. A guest that is not the sandbox's is refused.
func (n *Nodes) Kubelet(name string) (*Kubelet, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	b := n.bound[name]
	m := n.vms[b.Key]
	if g, ok := n.source(); ok {
		return nil, g.Refuse(fmt.Sprintf("node %q: something is done to a kubelet", name))
	}
	if m == nil || m.guest == nil {
		return nil, fmt.Errorf("node %q: no VM of this sandbox has a kubelet of that name", name)
	}
	return m.kubelet(name, b), nil
}

// kubelet returns the guest of a VM that is bound to a Node. The caller holds the lock.
func (m *member) kubelet(name string, b Bound) *Kubelet {
	return &Kubelet{Node: name, Addresses: m.addresses, Guest: m.guest, Bound: b, Now: m.vm, Light: m.IsLight(), Component: m.component, Proxy: m.Proxy(), Dir: m.Dir()}
}

// KubeletAt is [Nodes.Kubelet] for a host as the API server names it: the name of a Node, or an address of its VM.
func (n *Nodes) KubeletAt(host string) (*Kubelet, error) {
	if net.ParseIP(host) == nil {
		return n.Kubelet(host)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	var found *Kubelet
	for name, b := range n.bound {
		m := n.vms[b.Key]
		if m == nil || m.guest == nil || !slices.Contains(m.addresses, host) {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("%s: an address of VM %s and VM %s", host, found.VM, b.VM)
		}
		found = m.kubelet(name, b)
	}
	if found == nil {
		return nil, fmt.Errorf("%s: no address of a VM with a kubelet of this sandbox, or of this host's loopback interface", host)
	}
	return found, nil
}
