package sandbox

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// theirNodes are the Nodes of a cluster that is others', by the UUIDs by which they have their VMs. It is the cluster that says
// which VMs are nodes, and what they are called: a Node's name need not be what its VM's guest calls itself.
type theirNodes map[string]theirNode

type theirNode struct {
	name string
	role topology.Role
}

// without are the others.
func (t theirNodes) without(name string) theirNodes {
	rest := maps.Clone(t)
	maps.DeleteFunc(rest, func(_ string, n theirNode) bool { return n.name == name })
	return rest
}

// adopt binds a Node of a cluster that is others' to its VM. It is called by one goroutine.
func (s *Sandbox) adopt(o *corev1.Node) {
	if s.opts.Cluster.Theirs == nil {
		return
	}
	is := theirNode{o.Name, topology.RoleWorker}
	if _, ok := o.Labels[controlPlaneLabel]; ok {
		is.role = topology.RoleControlPlane
	}
	n := s.nodes
	n.roles.Lock()
	next := n.theirs.without(o.Name)
	if next == nil {
		next = theirNodes{}
	}
	for _, id := range uuidsOf(o) {
		if _, taken := next[id]; !taken { // of two that claim one VM, the first
			next[id] = is
		}
	}
	changed := !maps.Equal(next, n.theirs)
	n.theirs = next
	n.roles.Unlock()
	if changed {
		s.rebind(o)
	}
}

// abandon forgets that a VM is a node. Whose Node it was stays known: what became of it is told of that VM.
func (s *Sandbox) abandon(o *corev1.Node) {
	if s.opts.Cluster.Theirs == nil {
		return
	}
	s.nodes.roles.Lock()
	s.nodes.theirs = s.nodes.theirs.without(o.Name)
	s.nodes.roles.Unlock()
	s.rebind(o)
}

// rebind has the VMs that may be a Node's be what they are by now, and tells of them.
func (s *Sandbox) rebind(o *corev1.Node) {
	ids := uuidsOf(o)
	for _, vc := range s.vcenters {
		for _, v := range vc.inventory.VMs() {
			if v.UUID == "" || !slices.Contains(ids, strings.ToLower(v.UUID)) {
				continue
			}
			s.nodes.bind(v)
			s.vmChanged(v)
		}
	}
}

// their is the Node of a cluster that is others' that a VM is; false when it is none.
func (n *nodes) their(v world.VM) (theirNode, bool) {
	n.roles.Lock()
	defer n.roles.Unlock()
	is, ok := n.theirs[strings.ToLower(v.UUID)]
	return is, ok
}

// bind notes that a VM is one of their nodes, if it is.
func (n *nodes) bind(v world.VM) {
	n.mu.Lock()
	defer n.mu.Unlock()
	key := vmKey{v.VCenter, v.Ref}
	is, ok := n.their(v)
	if !ok {
		return
	}
	m := n.vms[key]
	if m == nil {
		m = &machine{}
		n.vms[key] = m
	}
	m.vm = v
	n.call(m, is)
	n.follow(m)
}

// call gives a VM the name of its Node. The caller holds the lock.
func (n *nodes) call(m *machine, is theirNode) {
	key := vmKey{m.vm.VCenter, m.vm.Ref}
	if other, taken := n.bound[is.name]; taken && other.key != key && n.vms[other.key] != nil {
		return // of two VMs of one UUID, the first
	}
	m.component = "node/" + is.name
	n.bound[is.name] = bound{key: key, vcenter: m.vm.VCenter, vm: m.vm.Name, role: is.role}
}
