package sandbox

import (
	"context"
	"maps"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/boot"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// assign says which VMs are nodes: those of a topology, and those of another whose time has not passed yet. VMs that are
// there already become nodes, or are none any more; another role takes effect when the VM boots.
func (n *nodes) assign(top, passing *topology.Topology) {
	if n.s.facts.Nodes == "" || n.s.facts.Nodes == api.NodesReal { // there are none, or it is the cluster that decides
		return
	}
	n.s.light.assign(passing, top)
	byUUID, byPath := map[string]topology.Role{}, map[[2]string]topology.Role{}
	for _, t := range []*topology.Topology{passing, top} {
		if t == nil {
			continue
		}
		for _, r := range t.Nodes() {
			byUUID[strings.ToLower(r.VM.UUID)] = r.VM.Role
			byPath[[2]string{r.VCenter.Name, r.InventoryPath()}] = r.VM.Role
		}
	}
	n.roles.Lock()
	same := maps.Equal(byUUID, n.byUUID) && maps.Equal(byPath, n.byPath)
	n.byUUID, n.byPath = byUUID, byPath
	n.roles.Unlock()
	if same || n.s.world == nil {
		return
	}
	vms := n.s.world.VMs()
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, v := range vms {
		key := vmKey{v.VCenter, v.Ref}
		m, wanted := n.vms[key], n.Role(v) != ""
		switch {
		case m == nil && wanted:
			m = &machine{vm: v}
			n.vms[key] = m
			n.follow(m)
		case m != nil && !wanted:
			delete(n.vms, key)
			if m.node != nil {
				n.s.background.Run("nodes", func(ctx context.Context) { n.dismiss(ctx, m) })
			}
		}
	}
}

// dismiss ends the node of a VM that is none any more, and deletes its Node as its administrator would: the cloud
// controller manager leaves it alone as long as there is the VM.
func (n *nodes) dismiss(ctx context.Context, m *machine) {
	n.retire(ctx, m)
	n.mu.Lock()
	var name string
	for node, b := range n.bound {
		if b.key == (vmKey{m.vm.VCenter, m.vm.Ref}) {
			name = node
		}
	}
	n.mu.Unlock()
	if name == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), boot.StopTimeout)
	defer cancel()
	err := n.s.cluster.Client().CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		n.s.opts.Logger.Error("node of a VM that is none any more", "vm", m.vm.Name, "node", name, "err", err)
	}
}

// of is the node that a VM is or is to be, "" for none.
func (n *nodes) of(vms []world.VM, vcenter, name string) string {
	for _, v := range vms {
		if v.VCenter == vcenter && v.Name == name {
			if v.Role == "" {
				return ""
			}
			return n.named(v)
		}
	}
	n.mu.Lock() // one that is gone may have left its node
	defer n.mu.Unlock()
	for node, b := range n.bound {
		if b.vcenter == vcenter && b.vm == name {
			return node
		}
	}
	return ""
}
