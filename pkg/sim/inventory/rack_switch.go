package inventory

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// ReconfigureDvsTask changes a switch. vcsim lists port groups once for every host in the networks of a cluster, and
// leaves them at hosts that are taken off.
func (j *Joining) ReconfigureDvsTask(ctx *simulator.Context, req *types.ReconfigureDvs_Task) soap.HasFault {
	ref, fault := j.onSwitch(ctx, req.This, "reconfigureDvs", func(dvs *simulator.DistributedVirtualSwitch) vc.Ref {
		return dvs.ReconfigureDvsTask(ctx, req).(*methods.ReconfigureDvs_TaskBody).Res.Returnval
	})
	if fault != nil {
		return &methods.ReconfigureDvs_TaskBody{Fault_: fault}
	}
	return &methods.ReconfigureDvs_TaskBody{Res: &types.ReconfigureDvs_TaskResponse{Returnval: ref}}
}

// AddDVPortgroupTask adds port groups to a switch, on all its hosts.
func (j *Joining) AddDVPortgroupTask(ctx *simulator.Context, req *types.AddDVPortgroup_Task) soap.HasFault {
	ref, fault := j.onSwitch(ctx, req.This, "addDVPortgroup", func(dvs *simulator.DistributedVirtualSwitch) vc.Ref {
		return dvs.AddDVPortgroupTask(ctx, req).(*methods.AddDVPortgroup_TaskBody).Res.Returnval
	})
	if fault != nil {
		return &methods.AddDVPortgroup_TaskBody{Fault_: fault}
	}
	return &methods.AddDVPortgroup_TaskBody{Res: &types.AddDVPortgroup_TaskResponse{Returnval: ref}}
}

// onSwitch lets vcsim do something to a switch in a task, and makes all lists right after it.
func (j *Joining) onSwitch(ctx *simulator.Context, this vc.Ref, name string, do func(*simulator.DistributedVirtualSwitch) vc.Ref) (vc.Ref, *soap.Fault) {
	dvs, ok := ctx.Map.Get(this).(*simulator.DistributedVirtualSwitch)
	if !ok {
		return vc.Ref{}, simulator.Fault("", &types.ManagedObjectNotFound{Obj: this})
	}
	task := simulator.CreateTask(dvs, name, func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		before := slices.Clone(dvs.Summary.HostMember)
		made, fault := vc.Await(ctx, do(dvs))
		if fault != nil {
			return nil, fault
		}
		relist(ctx, dvs, before)
		return made, nil
	})
	return task.Run(ctx), nil
}

// relist writes members and port groups of a switch, which is locked, wherever they are listed.
func relist(ctx *simulator.Context, dvs *simulator.DistributedVirtualSwitch, before []vc.Ref) {
	members, groups := union(dvs.Summary.HostMember), union(dvs.Portgroup)
	dvs.Summary.NumHosts = int32(len(members))
	if c := dvs.Config.GetDVSConfigInfo(); c != nil {
		c.Host = nil
		for _, ref := range members {
			c.Host = append(c.Host, types.DistributedVirtualSwitchHostMember{
				Config: types.DistributedVirtualSwitchHostMemberConfigInfo{
					Host: new(ref), MaxProxySwitchPorts: 128, Backing: new(types.DistributedVirtualSwitchHostMemberPnicBacking),
				},
				ProductInfo: dvs.Summary.ProductInfo,
				Status:      string(types.DistributedVirtualSwitchHostMemberHostComponentStateUp),
			})
		}
	}
	for _, ref := range groups {
		if g, ok := ctx.Map.Get(ref).(*simulator.DistributedVirtualPortgroup); ok {
			relink(ctx, g, "host", func() []vc.Ref { return slices.Clone(members) })
		}
	}
	computes := map[vc.Ref]bool{} // whether one of its hosts is a member
	for _, ref := range union(before, members) {
		h, ok := ctx.Map.Get(ref).(*simulator.HostSystem)
		if !ok || h.Parent == nil {
			continue
		}
		member := slices.Contains(members, ref)
		computes[*h.Parent] = computes[*h.Parent] || member
		relink(ctx, h, "network", func() []vc.Ref { return with(h.Network, groups, member) })
	}
	for ref, member := range computes {
		obj := ctx.Map.Get(ref)
		c, ok := vc.Compute(obj)
		if !ok {
			continue
		}
		for _, h := range c.Host {
			member = member || slices.Contains(members, h)
		}
		relink(ctx, obj, "network", func() []vc.Ref { return with(c.Network, groups, member) })
	}
}

// with is a list with others in it, or without them.
func with(list, others []vc.Ref, in bool) []vc.Ref {
	if in {
		return union(list, others)
	}
	return slices.DeleteFunc(union(list), func(r vc.Ref) bool { return slices.Contains(others, r) })
}
