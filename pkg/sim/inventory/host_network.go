package inventory

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

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
func (j *Joining) AddVirtualSwitch(ctx *simulator.Context, req *types.AddVirtualSwitch) soap.HasFault {
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
func (j *Joining) RemoveVirtualSwitch(ctx *simulator.Context, req *types.RemoveVirtualSwitch) soap.HasFault {
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
func (j *Joining) editNetwork(ctx *simulator.Context, this vc.Ref, edit func(*types.HostNetworkInfo) types.BaseMethodFault) *soap.Fault {
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
