package sandbox

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// adopt binds a Node of a cluster that is others' to its VM: it is the cluster that says which VMs are nodes, and what they are
// called. It is called by one goroutine.
func (s *Sandbox) adopt(o *corev1.Node) {
	if s.opts.Cluster.Theirs == nil {
		return
	}
	role := topology.RoleWorker
	if _, ok := o.Labels[controlPlaneLabel]; ok {
		role = topology.RoleControlPlane
	}
	s.nodes.roles.Lock()
	touched := s.nodes.theirs.set(o.Name, theirNode{role, uuidsOf(o)})
	s.nodes.roles.Unlock()
	s.rebind(touched)
}

// abandon forgets that a VM is a node. Whose Node it was stays known: what became of it is told of that VM.
func (s *Sandbox) abandon(name string) {
	if s.opts.Cluster.Theirs == nil {
		return
	}
	s.nodes.roles.Lock()
	touched := s.nodes.theirs.drop(name)
	s.nodes.roles.Unlock()
	s.rebind(touched)
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
			s.vmChanged(v)
		}
	}
}

// their is the Node of a cluster that is others' that a VM is; false when it is none.
func (n *nodes) their(v world.VM) (name string, role topology.Role, ok bool) {
	n.roles.Lock()
	defer n.roles.Unlock()
	return n.theirs.of(v.UUID)
}

// bind notes that a VM is one of their nodes, if it is.
func (n *nodes) bind(v world.VM) {
	name, role, ok := n.their(v)
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

// theirNodes are the Nodes of a cluster that is others', and the UUIDs by which they have their VMs. The zero value is ready.
type theirNodes struct {
	nodes  map[string]theirNode
	claims map[string][]string // names of nodes, by UUID: of several, the first has it
}

type theirNode struct {
	role topology.Role
	ids  []string
}

// set says what a Node is like, and returns the UUIDs that this is news for.
func (t *theirNodes) set(name string, is theirNode) (touched []string) {
	was, known := t.nodes[name]
	if known && was.role == is.role && slices.Equal(was.ids, is.ids) {
		return nil
	}
	if t.nodes == nil {
		t.nodes, t.claims = map[string]theirNode{}, map[string][]string{}
	}
	t.drop(name)
	t.nodes[name] = is
	for _, id := range is.ids {
		t.claims[id] = append(t.claims[id], name)
	}
	return append(slices.Clone(is.ids), was.ids...)
}

// drop forgets a Node, and returns the UUIDs that it had.
func (t *theirNodes) drop(name string) []string {
	ids := t.nodes[name].ids
	for _, id := range ids {
		t.claims[id] = slices.DeleteFunc(slices.Clone(t.claims[id]), func(n string) bool { return n == name })
		if len(t.claims[id]) == 0 {
			delete(t.claims, id)
		}
	}
	delete(t.nodes, name)
	return ids
}

// of is the Node of the VM of a UUID; false when there is none.
func (t *theirNodes) of(uuid string) (name string, role topology.Role, ok bool) {
	claims := t.claims[strings.ToLower(uuid)]
	if len(claims) == 0 {
		return "", "", false
	}
	return claims[0], t.nodes[claims[0]].role, true
}
