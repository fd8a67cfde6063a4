package overview

import (
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
)

// vmPlace is the place of the VM in the row of a node.
type vmPlace struct{ vcenter, datacenter, name string }

// vms adds a line for each VM, to the group of its host.
func (b *builder) vms() {
	rows := b.s.World().Rows(world.VM)
	vms := world.Values[api.VM](b.s.World(), world.VM)
	for i := range vms {
		b.tagged = b.tagged || vms[i].Region != "" || vms[i].Zone != ""
	}
	b.order = make([]*line, 0, len(vms))
	for i := range vms {
		v := &vms[i]
		l := &line{key: "vm\x00" + rows[i].Key, vm: v, vmKey: rows[i].Key}
		l.in = b.group(place{host, v.Region, v.Zone, v.VCenter, v.Datacenter, v.Host})
		b.order = append(b.order, l)
	}
}

// nodes joins nodes with the lines of their VMs, and adds lines for those without a VM, including recently deleted nodes.
func (b *builder) nodes() {
	byPlace, byUUID := make(map[vmPlace]*line, len(b.order)), make(map[string]*line, len(b.order))
	for _, l := range b.order {
		byPlace[vmPlace{l.vm.VCenter, l.vm.Datacenter, l.vm.Name}] = l
		byUUID[strings.ToLower(l.vm.UUID)] = l
	}
	join := func(n *api.Node, key string, gone bool) {
		at := vmPlace{n.VCenter, n.Datacenter, n.VM}
		_, id, _ := strings.Cut(n.ProviderID, "://")
		l := byUUID[strings.ToLower(id)]
		if l == nil || l.vm.Name != n.VM || l.vm.VCenter != n.VCenter { // names may repeat in folders, and UUIDs by mistake
			l = byPlace[at]
		}
		if l != nil && l.node == nil {
			l.node, l.nodeKey, l.gone = n, key, gone
			return
		}
		own := &line{key: "node\x00" + key, node: n, nodeKey: key, gone: gone}
		if l != nil { // a second node of one VM
			if gone {
				return
			}
			own.vm, own.vmKey, own.in, own.second = l.vm, l.vmKey, l.in, true
		}
		b.order = append(b.order, own)
	}
	rows := b.s.World().Rows(world.Node)
	nodes := world.Values[api.Node](b.s.World(), world.Node)
	for i := range nodes {
		join(&nodes[i], rows[i].Key, false)
	}
	for _, row := range b.s.Gone(world.Node) {
		if n, ok := row.Value.(api.Node); ok && n.Registered {
			join(&n, row.Key, true)
		}
	}
}

// volumes adds the volumes of nodes to their lines.
func (b *builder) volumes() {
	volumes := world.Values[api.Volume](b.s.World(), world.Volume)
	if len(volumes) == 0 {
		return
	}
	byNode := make(map[string]*line, len(b.order))
	for _, l := range b.order {
		if l.node != nil {
			byNode[l.node.Name] = l
		}
	}
	for i := range volumes {
		if v := &volumes[i]; v.Attached {
			if l := byNode[v.Node]; l != nil {
				l.volumes = append(l.volumes, v)
			}
		}
	}
}

// about returns the findings of a line's VM, node and volumes.
func (b *builder) about(l *line) (all []fold.Finding) {
	if l.vm != nil {
		all = append(all, b.s.FindingsOf(api.Subject{Kind: "vm", VCenter: l.vm.VCenter, Name: l.vm.Name})...)
	}
	if l.node != nil {
		all = append(all, b.s.FindingsOf(api.Subject{Kind: "node", Name: l.node.Name})...)
	}
	for _, v := range l.volumes {
		all = append(all, b.s.FindingsOf(api.Subject{Kind: "volume", Name: v.Name})...)
	}
	return all
}
