package inventory

import (
	"fmt"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// network is a standard network or, with a switch, a distributed port group.
type network struct {
	ref        vc.Ref
	switchUUID string
	hosts      map[*host]bool // nil: all
}

// connect makes the datacenter's networks and gives them to the hosts.
func (b *builder) connect(dc *datacenter) error {
	var all []vc.Ref
	for i := range dc.Networks {
		ref, err := b.network(dc, &dc.Networks[i], i == 0)
		if err != nil {
			return fmt.Errorf("network %q: %w", dc.Networks[i].Name, err)
		}
		all = append(all, ref)
	}
	// Lists of their own: vcsim lets hosts and clusters share one of the datacenter's.
	for _, h := range dc.hosts {
		ctx := b.fresh()
		ctx.WithLock(h.obj, func() {
			h.obj.Network = append([]vc.Ref(nil), all...)
			standardGroups(&h.obj.HostSystem, dc.Networks)
		})
	}
	for _, c := range dc.computes {
		ctx := b.fresh()
		ctx.WithLock(c.obj.Self, func() { c.obj.Network = append([]vc.Ref(nil), all...) })
	}
	for i := range dc.Switches {
		if err := b.distributed(dc, &dc.Switches[i]); err != nil {
			return fmt.Errorf("switch %q: %w", dc.Switches[i].Name, err)
		}
	}
	return nil
}

// network makes a network that every host of the datacenter has: vcsim makes one when a port group is added to a host and
// refuses the same name on a second host. The first one is the "VM Network" that vcsim gives every datacenter.
func (b *builder) network(dc *datacenter, spec *topology.Network, first bool) (vc.Ref, error) {
	folder := b.sim.Map.Get(dc.obj.NetworkFolder).(*simulator.Folder)
	var n *mo.Network
	if first {
		if len(dc.obj.Network) == 0 {
			return vc.Ref{}, fmt.Errorf("datacenter has no default network")
		}
		var ok bool
		if n, ok = b.sim.Map.Get(dc.obj.Network[0]).(*mo.Network); !ok {
			return vc.Ref{}, fmt.Errorf("default network is a %s", dc.obj.Network[0].Type)
		}
	} else {
		if e := b.sim.Map.FindByName(spec.Name, folder.ChildEntity); e != nil {
			return vc.Ref{}, fmt.Errorf("name is that of a %s", e.Reference().Type)
		}
		n = new(mo.Network)
		n.Self.Type = "Network"
		b.sim.Map.NewEntity(n)
		n.Parent = &folder.Self
	}
	n.Name = spec.Name
	n.Entity().Name = spec.Name
	n.Summary = &types.NetworkSummary{Network: new(n.Self), Name: spec.Name, Accessible: true}
	n.Host = nil
	for _, h := range dc.hosts {
		n.Host = append(n.Host, h.obj.Self)
	}
	if !first {
		b.adopt(folder, n)
		ctx := b.fresh()
		ctx.WithLock(dc.obj, func() { dc.obj.Network = append(dc.obj.Network, n.Self) })
	}
	dc.networks[spec.Name] = &network{ref: n.Self}
	b.note(dc.path+"/network/"+spec.Name, n.Self, topology.Place{}, spec.Marks)
	return n.Self, nil
}

// adopt puts an object into the registry and its folder.
func (b *builder) adopt(folder *simulator.Folder, e mo.Entity) {
	ctx := b.fresh()
	ctx.WithLock(folder, func() {
		folder.ChildEntity = append(folder.ChildEntity, e.Reference())
		b.sim.Map.PutEntity(folder, e)
	})
}

// standardGroups lists the networks as port groups of the host's standard switch.
func standardGroups(h *mo.HostSystem, networks []topology.Network) {
	if h.Config == nil || h.Config.Network == nil || len(h.Config.Network.Vswitch) == 0 {
		return
	}
	const key = "key-vim.host.PortGroup-"
	n := h.Config.Network
	known := make(map[string]bool, len(n.Portgroup))
	for _, g := range n.Portgroup {
		known[g.Spec.Name] = true
	}
	vswitch := &n.Vswitch[0]
	for i := range networks {
		name := networks[i].Name
		if known[name] {
			continue
		}
		vswitch.Portgroup = append(vswitch.Portgroup, key+name)
		n.Portgroup = append(n.Portgroup, types.HostPortGroup{
			Key: key + name, Vswitch: vswitch.Key, Spec: types.HostPortGroupSpec{Name: name, VswitchName: vswitch.Name},
		})
	}
}
