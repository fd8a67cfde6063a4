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

// AddStandaloneHostTask adds a host outside of clusters.
func (j *HostAdder) AddStandaloneHostTask(ctx *simulator.Context, req *types.AddStandaloneHost_Task) soap.HasFault {
	body := new(methods.AddStandaloneHost_TaskBody)
	f, ok := ctx.Map.Get(req.This).(*simulator.Folder)
	if !ok {
		body.Fault_ = simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})
		return body
	}
	if !slices.Contains(f.ChildType, "ComputeResource") {
		return f.AddStandaloneHostTask(ctx, req)
	}
	body.Res = &types.AddStandaloneHost_TaskResponse{Returnval: j.addStandalone(ctx, f, func() vc.Ref {
		return f.AddStandaloneHostTask(ctx, req).(*methods.AddStandaloneHost_TaskBody).Res.Returnval
	})}
	return body
}

// AddPortGroup adds a port group to a host's standard switch. The first one in the datacenter creates the network; vcsim refuses
// a second host.
func (j *HostAdder) AddPortGroup(ctx *simulator.Context, req *types.AddPortGroup) soap.HasFault {
	j.rack.serial.Lock()
	defer j.rack.serial.Unlock()
	body := new(methods.AddPortGroupBody)
	refuse := func(f types.BaseMethodFault) soap.HasFault {
		body.Fault_ = simulator.Fault("", f)
		return body
	}
	system, ok := ctx.Map.Get(req.This).(*simulator.HostNetworkSystem)
	if !ok || system.Host == nil {
		return refuse(&types.ManagedObjectNotFound{Obj: req.This})
	}
	name := req.Portgrp.Name
	if name == "" {
		return refuse(&types.InvalidArgument{InvalidProperty: "portgrp"})
	}
	if !slices.ContainsFunc(system.NetworkInfo.Vswitch, func(s types.HostVirtualSwitch) bool { return s.Name == req.Portgrp.VswitchName }) {
		return refuse(new(types.NotFound))
	}
	dc := datacenterOf(ctx, system.Host.Self)
	if dc == nil {
		return refuse(&types.ManagedObjectNotFound{Obj: req.This})
	}
	folder := ctx.Map.Get(dc.NetworkFolder).(*simulator.Folder)
	host := system.Host
	var n *mo.Network
	if e := ctx.Map.FindByName(name, folder.ChildEntity); e != nil {
		if n, ok = e.(*mo.Network); !ok {
			return refuse(&types.DuplicateName{Name: name, Object: e.Reference()})
		}
		if slices.Contains(host.Network, n.Self) {
			return refuse(&types.AlreadyExists{Name: name})
		}
	} else {
		n = new(mo.Network)
		n.Self.Type = "Network"
		n.Name = name
		n.Entity().Name = name
		ctx.Map.NewEntity(n)
		n.Parent = &folder.Self
		n.Summary = &types.NetworkSummary{Network: new(n.Self), Name: name, Accessible: true}
		ctx.WithLock(folder, func() {
			folder.ChildEntity = append(folder.ChildEntity, n.Self)
			ctx.Map.PutEntity(folder, n)
		})
		relink(ctx, dc, "network", func() []vc.Ref { return union(dc.Network, []vc.Ref{n.Self}) })
	}
	hostObj := ctx.Map.Get(host.Self)
	ctx.WithLock(hostObj, func() {
		addGroup(host, req.Portgrp)
		publishNetwork(ctx, host)
		ctx.Update(hostObj, []types.PropertyChange{vc.P("network", union(host.Network, []vc.Ref{n.Self}))})
	})
	listHost(ctx, n.Self, host.Self)
	if c, ok := vc.Compute(ctx.Map.Get(*host.Parent)); ok {
		relink(ctx, ctx.Map.Get(c.Self), "network", func() []vc.Ref { return union(c.Network, []vc.Ref{n.Self}) })
	}
	body.Res = new(types.AddPortGroupResponse)
	return body
}

// RemovePortGroup removes a port group from a host. The last one removes the network; vcsim removes it from all hosts with the
// first, and ends the process at the second.
func (j *HostAdder) RemovePortGroup(ctx *simulator.Context, req *types.RemovePortGroup) soap.HasFault {
	j.rack.serial.Lock()
	defer j.rack.serial.Unlock()
	body := new(methods.RemovePortGroupBody)
	refuse := func(f types.BaseMethodFault) soap.HasFault {
		body.Fault_ = simulator.Fault("", f)
		return body
	}
	system, ok := ctx.Map.Get(req.This).(*simulator.HostNetworkSystem)
	if !ok || system.Host == nil {
		return refuse(&types.ManagedObjectNotFound{Obj: req.This})
	}
	host := system.Host
	dc := datacenterOf(ctx, host.Self)
	if dc == nil {
		return refuse(new(types.NotFound))
	}
	folder := ctx.Map.Get(dc.NetworkFolder).(*simulator.Folder)
	n, ok := ctx.Map.FindByName(req.PgName, folder.ChildEntity).(*mo.Network)
	if !ok || !slices.Contains(host.Network, n.Self) {
		return refuse(new(types.NotFound))
	}
	for _, ref := range host.Vm {
		if vm, ok := ctx.Map.Get(ref).(*simulator.VirtualMachine); ok && slices.Contains(vm.Network, n.Self) {
			return refuse(&types.ResourceInUse{Type: "HostPortGroup", Name: req.PgName})
		}
	}
	hostObj := ctx.Map.Get(host.Self)
	ctx.WithLock(hostObj, func() {
		dropGroup(host, req.PgName)
		publishNetwork(ctx, host)
		ctx.Update(hostObj, []types.PropertyChange{vc.P("network", minus(host.Network, n.Self))})
	})
	relink(ctx, n, "host", func() []vc.Ref { return minus(n.Host, host.Self) })
	if c, ok := vc.Compute(ctx.Map.Get(*host.Parent)); ok && !slices.ContainsFunc(c.Host, func(r vc.Ref) bool { return slices.Contains(n.Host, r) }) {
		relink(ctx, ctx.Map.Get(c.Self), "network", func() []vc.Ref { return minus(c.Network, n.Self) })
	}
	if len(n.Host) == 0 {
		relink(ctx, dc, "network", func() []vc.Ref { return minus(dc.Network, n.Self) })
		relink(ctx, folder, "childEntity", func() []vc.Ref { return minus(folder.ChildEntity, n.Self) })
		ctx.Map.Remove(ctx, n.Self)
	}
	body.Res = new(types.RemovePortGroupResponse)
	return body
}

// listHost adds a host to those of a network.
func listHost(ctx *simulator.Context, network, host vc.Ref) {
	if n, ok := ctx.Map.Get(network).(*mo.Network); ok {
		relink(ctx, n, "host", func() []vc.Ref { return union(n.Host, []vc.Ref{host}) })
	}
}

// relink changes a list of references, with an update.
func relink(ctx *simulator.Context, obj mo.Reference, property string, list func() []vc.Ref) {
	ctx.WithLock(obj, func() { ctx.Update(obj, []types.PropertyChange{vc.P(property, list())}) })
}

func entityName(obj mo.Reference) string {
	if e, ok := obj.(mo.Entity); ok {
		return e.Entity().Name
	}
	return ""
}
