package inventory

import (
	"fmt"
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
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

// connect creates the datacenter's networks and adds them to the hosts.
func (b *builder) connect(dc *datacenter) error {
	var all []vc.Ref
	for i := range dc.Networks {
		ref, err := b.network(dc, &dc.Networks[i], i == 0)
		if err != nil {
			return fmt.Errorf("network %q: %w", dc.Networks[i].Name, err)
		}
		all = append(all, ref)
	}
	// Copies: vcsim lets hosts and clusters share the datacenter's list.
	for _, h := range dc.hosts {
		ctx := b.fresh()
		ctx.WithLock(h.obj, func() {
			h.obj.Network = append([]vc.Ref(nil), all...)
			standardGroups(&h.obj.HostSystem, dc.Networks)
			publishNetwork(ctx, &h.obj.HostSystem)
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

// network creates a network that every host of the datacenter has: vcsim creates one when a port group is added to a host and
// refuses the same name on a second host. The first one is the "VM Network" of every datacenter in vcsim.
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

// adopt adds an object to the registry and its folder.
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
	for i := range networks {
		addGroup(h, types.HostPortGroupSpec{Name: networks[i].Name, VswitchName: h.Config.Network.Vswitch[0].Name})
	}
}

// distributed creates a distributed switch with its port groups and members.
func (b *builder) distributed(dc *datacenter, spec *topology.Switch) error {
	members, err := dc.members(spec.Hosts, spec.Clusters)
	if err != nil {
		return err
	}
	folder := b.sim.Map.Get(dc.obj.NetworkFolder).(*simulator.Folder)
	ctx := b.fresh()
	var task vc.Ref
	ctx.WithLock(folder, func() {
		task = folder.CreateDVSTask(ctx, &types.CreateDVS_Task{
			This: folder.Self,
			Spec: types.DVSCreateSpec{ConfigSpec: &types.VMwareDVSConfigSpec{
				DVSConfigSpec: types.DVSConfigSpec{Name: spec.Name},
				MaxMtu:        1500,
			}},
		}).(*methods.CreateDVS_TaskBody).Res.Returnval
	})
	result, err := b.tasks.wait(b.sim, task)
	if err != nil {
		return err
	}
	dvs := b.sim.Map.Get(result.(vc.Ref)).(*simulator.DistributedVirtualSwitch)
	// vcsim adds the port group of the uplinks in a separate task, which holds the lock until then.
	b.settle(dvs)
	b.identify(dc, dvs, spec)
	if err := b.portGroups(dc, dvs, spec, members); err != nil {
		return err
	}
	b.join(dvs, members)
	b.note(dc.path+"/network/"+spec.Name, dvs.Self, topology.Place{}, spec.Marks)
	return nil
}

// settle waits until no task runs on the switch.
func (b *builder) settle(dvs *simulator.DistributedVirtualSwitch) {
	b.fresh().WithLock(dvs, func() {})
}

// identify sets the UUID of the switch; vcsim's is a hash of the name, the same in every vCenter.
func (b *builder) identify(dc *datacenter, dvs *simulator.DistributedVirtualSwitch, spec *topology.Switch) {
	ctx := b.fresh()
	ctx.WithLock(dvs, func() {
		dvs.Uuid = b.derive("switch", dc.Name, spec.Name)
		dvs.Summary.Uuid = dvs.Uuid
		if c := dvs.Config.GetDVSConfigInfo(); c != nil {
			c.Uuid = dvs.Uuid
		}
	})
}

// portGroups adds the port groups, with ports for every VM.
func (b *builder) portGroups(dc *datacenter, dvs *simulator.DistributedVirtualSwitch, spec *topology.Switch, members []*host) error {
	groups := make([]types.DVPortgroupConfigSpec, len(spec.PortGroups))
	for i := range spec.PortGroups {
		groups[i] = types.DVPortgroupConfigSpec{
			Name:       spec.PortGroups[i].Name,
			Type:       string(types.DistributedVirtualPortgroupPortgroupTypeEarlyBinding),
			NumPorts:   8, // the default of the vSphere Client
			AutoExpand: new(true),
			DefaultPortConfig: &types.VMwareDVSPortSetting{
				Vlan: &types.VmwareDistributedVirtualSwitchVlanIdSpec{VlanId: spec.PortGroups[i].VLAN},
			},
		}
	}
	ctx := b.fresh()
	var task vc.Ref
	ctx.WithLock(dvs, func() {
		task = dvs.AddDVPortgroupTask(ctx, &types.AddDVPortgroup_Task{This: dvs.Self, Spec: groups}).(*methods.AddDVPortgroup_TaskBody).Res.Returnval
	})
	if _, err := b.tasks.wait(b.sim, task); err != nil {
		return err
	}
	var refs []vc.Ref
	b.fresh().WithLock(dvs, func() { refs = append(refs, dvs.Portgroup...) })
	on := make(map[*host]bool, len(members))
	for _, h := range members {
		on[h] = true
	}
	// The first one is that of the uplinks.
	refs = refs[len(refs)-len(groups):]
	for i, ref := range refs {
		g := &spec.PortGroups[i]
		if dc.networks[g.Name] != nil {
			return fmt.Errorf("port group %q: name is taken in the datacenter", g.Name)
		}
		dc.networks[g.Name] = &network{ref: ref, switchUUID: dvs.Uuid, hosts: on}
		b.note(dc.path+"/network/"+g.Name, ref, topology.Place{}, g.Marks)
	}
	return nil
}

// join makes the hosts members of the switch. vcsim's call lists a port group once for each host in the networks of a cluster.
func (b *builder) join(dvs *simulator.DistributedVirtualSwitch, members []*host) {
	var groups, hosts []vc.Ref
	b.fresh().WithLock(dvs, func() { groups = append(groups, dvs.Portgroup...) })
	seen := make(map[*compute]bool)
	for _, h := range members {
		hosts = append(hosts, h.obj.Self)
		ctx := b.fresh()
		ctx.WithLock(h.obj, func() { h.obj.Network = append(h.obj.Network, groups...) })
		if c := h.compute; !seen[c] {
			seen[c] = true
			ctx.WithLock(c.obj.Self, func() { c.obj.Network = append(c.obj.Network, groups...) })
		}
	}
	for _, ref := range groups {
		g := b.sim.Map.Get(ref).(*simulator.DistributedVirtualPortgroup)
		ctx := b.fresh()
		ctx.WithLock(g, func() { g.Host = append([]vc.Ref(nil), hosts...) })
	}
	ctx := b.fresh()
	ctx.WithLock(dvs, func() {
		dvs.Summary.HostMember = hosts
		dvs.Summary.NumHosts = int32(len(hosts))
		c := dvs.Config.GetDVSConfigInfo()
		for _, ref := range hosts {
			c.Host = append(c.Host, types.DistributedVirtualSwitchHostMember{
				Config: types.DistributedVirtualSwitchHostMemberConfigInfo{
					Host: new(ref), MaxProxySwitchPorts: 128, Backing: new(types.DistributedVirtualSwitchHostMemberPnicBacking),
				},
				ProductInfo: dvs.Summary.ProductInfo,
				Status:      string(types.DistributedVirtualSwitchHostMemberHostComponentStateUp),
			})
		}
	})
}

const (
	switchKey = "key-vim.host.VirtualSwitch-"
	groupKey  = "key-vim.host.PortGroup-"
)

// publishNetwork sets the networkInfo of a host's network system to the host's config.network. In a vCenter the two are
// equal; vcsim changes only the first. The host's lock is held.
func publishNetwork(ctx *simulator.Context, h *mo.HostSystem) {
	if h.Config == nil || h.Config.Network == nil || h.ConfigManager.NetworkSystem == nil {
		return
	}
	system, ok := ctx.Map.Get(*h.ConfigManager.NetworkSystem).(*simulator.HostNetworkSystem)
	if !ok {
		return
	}
	info := *h.Config.Network
	info.Vswitch, info.Portgroup = slices.Clone(info.Vswitch), slices.Clone(info.Portgroup)
	for i := range info.Vswitch {
		info.Vswitch[i].Portgroup = slices.Clone(info.Vswitch[i].Portgroup)
	}
	ctx.WithLock(system, func() { ctx.Update(system, []types.PropertyChange{vc.P("networkInfo", &info)}) })
}

// addGroup adds a port group to a standard switch of a host that does not have it yet. The host's lock is held.
func addGroup(h *mo.HostSystem, spec types.HostPortGroupSpec) {
	if h.Config == nil || h.Config.Network == nil {
		return
	}
	n := h.Config.Network
	i := slices.IndexFunc(n.Vswitch, func(s types.HostVirtualSwitch) bool { return s.Name == spec.VswitchName })
	if i < 0 {
		return
	}
	if !slices.ContainsFunc(n.Portgroup, func(g types.HostPortGroup) bool { return g.Spec.Name == spec.Name }) {
		n.Vswitch[i].Portgroup = append(n.Vswitch[i].Portgroup, groupKey+spec.Name)
		n.Portgroup = append(n.Portgroup, types.HostPortGroup{Key: groupKey + spec.Name, Vswitch: n.Vswitch[i].Key, Spec: spec})
	}
}

// dropGroup removes a port group from the host's standard switches. The host's lock is held.
func dropGroup(h *mo.HostSystem, name string) {
	if h.Config == nil || h.Config.Network == nil {
		return
	}
	n := h.Config.Network
	n.Portgroup = slices.DeleteFunc(slices.Clone(n.Portgroup), func(g types.HostPortGroup) bool { return g.Spec.Name == name })
	for i := range n.Vswitch {
		s := &n.Vswitch[i]
		s.Portgroup = slices.DeleteFunc(slices.Clone(s.Portgroup), func(key string) bool { return key == groupKey+name })
	}
}

// AddVirtualSwitch adds a standard switch to a host. vcsim's is in networkInfo only.
func (j *HostAdder) AddVirtualSwitch(ctx *simulator.Context, req *types.AddVirtualSwitch) soap.HasFault {
	body := new(methods.AddVirtualSwitchBody)
	body.Fault_ = j.editNetwork(ctx, req.This, func(n *types.HostNetworkInfo) types.BaseMethodFault {
		switch {
		case req.VswitchName == "":
			return &types.InvalidArgument{InvalidProperty: "vswitchName"}
		case slices.ContainsFunc(n.Vswitch, named(req.VswitchName)):
			return &types.AlreadyExists{Name: req.VswitchName}
		}
		s := types.HostVirtualSwitch{Name: req.VswitchName, Key: switchKey + req.VswitchName, NumPorts: 128, NumPortsAvailable: 128, Mtu: 1500}
		if req.Spec != nil {
			s.Spec = *req.Spec
			s.NumPorts, s.NumPortsAvailable = req.Spec.NumPorts, req.Spec.NumPorts
			if req.Spec.Mtu > 0 {
				s.Mtu = req.Spec.Mtu
			}
		}
		n.Vswitch = append(slices.Clip(n.Vswitch), s)
		return nil
	})
	if body.Fault_ == nil {
		body.Res = new(types.AddVirtualSwitchResponse)
	}
	return body
}

// RemoveVirtualSwitch removes a standard switch that has no port groups.
func (j *HostAdder) RemoveVirtualSwitch(ctx *simulator.Context, req *types.RemoveVirtualSwitch) soap.HasFault {
	body := new(methods.RemoveVirtualSwitchBody)
	body.Fault_ = j.editNetwork(ctx, req.This, func(n *types.HostNetworkInfo) types.BaseMethodFault {
		i := slices.IndexFunc(n.Vswitch, named(req.VswitchName))
		switch {
		case i < 0:
			return new(types.NotFound)
		case len(n.Vswitch[i].Portgroup) > 0:
			return &types.ResourceInUse{Type: "HostVirtualSwitch", Name: req.VswitchName}
		}
		n.Vswitch = slices.Delete(slices.Clone(n.Vswitch), i, i+1)
		return nil
	})
	if body.Fault_ == nil {
		body.Res = new(types.RemoveVirtualSwitchResponse)
	}
	return body
}

func named(name string) func(types.HostVirtualSwitch) bool {
	return func(s types.HostVirtualSwitch) bool { return s.Name == name }
}

// editNetwork changes the network of the host that a network system is part of.
func (j *HostAdder) editNetwork(ctx *simulator.Context, this vc.Ref, edit func(*types.HostNetworkInfo) types.BaseMethodFault) *soap.Fault {
	j.rack.serial.Lock()
	defer j.rack.serial.Unlock()
	system, ok := ctx.Map.Get(this).(*simulator.HostNetworkSystem)
	if !ok || system.Host == nil || system.Host.Config == nil || system.Host.Config.Network == nil {
		return simulator.Fault("", &types.ManagedObjectNotFound{Obj: this})
	}
	host := ctx.Map.Get(system.Host.Self)
	var fault types.BaseMethodFault
	ctx.WithLock(host, func() {
		info := *system.Host.Config.Network
		if fault = edit(&info); fault == nil {
			ctx.Update(host, []types.PropertyChange{vc.P("config.network", &info)})
			publishNetwork(ctx, system.Host)
		}
	})
	if fault != nil {
		return simulator.Fault("", fault)
	}
	return nil
}
