package nodes

import (
	"context"
	"maps"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/glob"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// source returns the ground when its cluster decides which VMs are Nodes.
func (n *Nodes) source() (ground.NodeSource, bool) {
	g, ok := n.Ground().(ground.NodeSource)
	return g, ok
}

// sourced returns the Node of a VM if the cluster decides that, and whether it exists.
func (n *Nodes) sourced(v world.VM) (name string, role topology.Role, ok bool) {
	if g, is := n.source(); is {
		return g.NodeOf(v.UUID)
	}
	return "", "", false
}

// Role returns the role of a VM in the cluster, "" for none; it implements [world.Roles].
func (n *Nodes) Role(v world.VM) string {
	n.roles.Lock()
	defer n.roles.Unlock()
	if r, ok := n.byUUID[strings.ToLower(v.UUID)]; ok {
		return string(r)
	}
	if _, r, ok := n.sourced(v); ok {
		return string(r)
	}
	if r, ok := n.byPath[[2]string{v.VCenter, v.Path}]; ok {
		return string(r)
	}
	if rule, ok := n.cloneRule(v); ok {
		return string(rule.Role)
	}
	return ""
}

// cloneRule returns the rule of the template that a VM was cloned from, if it is for that VM. The caller holds the lock of roles.
func (n *Nodes) cloneRule(v world.VM) (topology.Clones, bool) {
	if len(n.clones) == 0 {
		return topology.Clones{}, false
	}
	vc := n.VCenters().Find(v.VCenter)
	if vc == nil || vc.Simulator() == nil {
		return topology.Clones{}, false
	}
	rule, ok := n.clones[[2]string{v.VCenter, vc.Simulator().Guests().Origin(v.Ref)}]
	return rule, ok && (rule.Match == "" || glob.Match(rule.Match, v.Name))
}

// isLightClone reports whether a VM is a light node by the rule of its template.
func (n *Nodes) isLightClone(v world.VM) bool {
	n.roles.Lock()
	defer n.roles.Unlock()
	rule, ok := n.cloneRule(v)
	return ok && n.Ground().Light(&topology.VM{Role: rule.Role, Nodes: rule.Nodes})
}

// Assign sets which VMs are Nodes: those of a topology and, while it is applied, those of the one before. VMs become Nodes at
// once, or are none any more; another role takes effect when the VM boots. It does nothing where the cluster decides that.
func (n *Nodes) Assign(top, passing *topology.Topology) {
	if _, ok := n.source(); ok {
		return
	}
	n.light.assign(passing, top)
	byUUID, byPath, clones := map[string]topology.Role{}, map[[2]string]topology.Role{}, map[[2]string]topology.Clones{}
	for _, t := range []*topology.Topology{passing, top} {
		if t == nil {
			continue
		}
		for _, r := range t.Nodes() {
			byUUID[strings.ToLower(r.VM.UUID)] = r.VM.Role
			byPath[[2]string{r.VCenter.Name, r.InventoryPath()}] = r.VM.Role
		}
		for r := range t.AllVMs() {
			if r.VM.Clones != nil {
				clones[[2]string{r.VCenter.Name, strings.ToLower(r.VM.UUID)}] = *r.VM.Clones
			}
		}
	}
	n.roles.Lock()
	same := maps.Equal(byUUID, n.byUUID) && maps.Equal(byPath, n.byPath) && maps.Equal(clones, n.clones)
	n.byUUID, n.byPath, n.clones = byUUID, byPath, clones
	n.roles.Unlock()
	w := n.World()
	if same || w == nil {
		return
	}
	vms := w.VMs()
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, v := range vms {
		key := v.Key()
		m, wanted := n.vms[key], n.Role(v) != ""
		switch {
		case m == nil && wanted:
			m = &member{n: n, vm: v, addresses: v.Addresses}
			n.vms[key] = m
			n.follow(m)
		case m != nil && !wanted:
			delete(n.vms, key)
			if m.guest != nil {
				n.Background.Run(group, func(ctx context.Context) { n.dismiss(ctx, m) })
			}
		}
	}
}

// dismiss ends the guest of a VM that is no Node any more, and deletes the Node object as an administrator would: the cloud
// controller manager keeps it while the VM exists.
func (n *Nodes) dismiss(ctx context.Context, m *member) {
	n.retire(ctx, m)
	n.mu.Lock()
	var name string
	for node, b := range n.bound {
		if b.Key == m.vm.Key() {
			name = node
		}
	}
	n.mu.Unlock()
	if name == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	err := n.client().CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		n.Logger.Error("node of a VM that is none any more", "vm", m.vm.Name, "node", name, "err", err)
	}
}

// Bind makes a VM a Node, where the cluster decides that, if it has a Node.
func (n *Nodes) Bind(v world.VM) {
	name, role, ok := n.sourced(v)
	if !ok {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	key := v.Key()
	m := n.vms[key]
	if m == nil {
		m = &member{n: n}
		n.vms[key] = m
	}
	m.vm = v
	n.bind(m, name, role)
	n.follow(m)
}

// bind gives a VM the name of its Node. The caller holds the lock.
func (n *Nodes) bind(m *member, name string, role topology.Role) {
	if n.taken(m, name) {
		return // of two VMs with one UUID, the first
	}
	m.component = "node/" + name
	n.bound[name] = Bound{m.vm.Key(), m.vm.Name, role}
}

// taken reports whether another VM has the name. The caller holds the lock.
func (n *Nodes) taken(m *member, name string) bool {
	b, ok := n.bound[name]
	return ok && b.Key != m.vm.Key() && n.vms[b.Key] != nil
}

// VMOf returns the VM of the Node with that name.
func (n *Nodes) VMOf(node string) Bound {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.bound[node]
}

// Name returns the name of a VM's Node: the one of its last boot, also if the guest has reported another hostname since.
func (n *Nodes) Name(v world.VM) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if m := n.vms[v.Key()]; m != nil && m.component != "" {
		name, _, _ := strings.Cut(strings.TrimPrefix(m.component, "node/"), "@")
		return name
	}
	if v.Hostname != "" {
		return strings.ToLower(v.Hostname)
	}
	return strings.ToLower(v.Name)
}

// Find returns the name of a VM's Node, "" for none. A VM that is gone may have left its Node.
func (n *Nodes) Find(vms []world.VM, vcenter, name string) string {
	for _, v := range vms {
		if v.VCenter == vcenter && v.Name == name {
			if v.Role == "" {
				return ""
			}
			return n.Name(v)
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for node, b := range n.bound {
		if b.Key.VCenter == vcenter && b.VM == name {
			return node
		}
	}
	return ""
}
