package sandbox

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// foreign reports whether a Node is not the sandbox's.
func (s *Sandbox) foreign(n *corev1.Node) bool {
	g, ok := s.ground.(ground.Shared)
	return ok && g.Foreign(n)
}

// adopt binds a Node to its VM where the cluster decides which VMs are nodes. It is called by one goroutine.
func (s *Sandbox) adopt(n *corev1.Node) {
	if g, ok := s.ground.(ground.NodeSource); ok {
		s.rebind(g.SetNode(n))
	}
}

// abandon forgets that a VM is a node. Whose Node it was stays known: what became of it is told of that VM.
func (s *Sandbox) abandon(name string) {
	if g, ok := s.ground.(ground.NodeSource); ok {
		s.rebind(g.DeleteNode(name))
	}
}

// rebind has the VMs of these UUIDs be what they are by now, and tells of them.
func (s *Sandbox) rebind(ids []string) {
	for _, key := range s.watchCache.VMs(ids) {
		vc := s.vcenters.Find(key.VCenter)
		if vc == nil {
			continue
		}
		if v, ok := vc.Inventory.VM(key.Ref); ok {
			s.nodes.bind(v)
			s.rows.VMChanged(v)
		}
	}
}

// sourced is the Node of a VM where the cluster decides that; false when it is none.
func (n *nodes) sourced(v world.VM) (name string, role topology.Role, ok bool) {
	g, is := n.s.ground.(ground.NodeSource)
	if !is {
		return "", "", false
	}
	return g.NodeOf(v.UUID)
}

// bind notes that a VM is a node, where the cluster decides that, if it is.
func (n *nodes) bind(v world.VM) {
	name, role, ok := n.sourced(v)
	if !ok {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	key := vmKey{v.VCenter, v.Ref}
	m := n.vms[key]
	if m == nil {
		m = &machine{}
		n.vms[key] = m
	}
	m.vm = v
	n.call(m, name, role)
	n.follow(m)
}

// call gives a VM the name of its Node. The caller holds the lock.
func (n *nodes) call(m *machine, name string, role topology.Role) {
	key := vmKey{m.vm.VCenter, m.vm.Ref}
	if other, taken := n.bound[name]; taken && other.key != key && n.vms[other.key] != nil {
		return // of two VMs of one UUID, the first
	}
	m.component = "node/" + name
	n.bound[name] = bound{key: key, vcenter: m.vm.VCenter, vm: m.vm.Name, role: role}
}
