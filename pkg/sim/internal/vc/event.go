package vc

import (
	"fmt"
	"slices"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// VMEvent returns the common part of an event about a VM whose lock is held. vcsim adds the user.
func VMEvent(ctx *simulator.Context, vm *simulator.VirtualMachine, format string, args ...any) types.VmEvent {
	var e types.Event
	if vm.Runtime.Host != nil {
		if h, ok := ctx.Map.Get(*vm.Runtime.Host).(*simulator.HostSystem); ok {
			e = HostEvent(ctx, h, "").Event
		}
	}
	e.CreatedTime = time.Now()
	e.FullFormattedMessage = fmt.Sprintf(format, args...)
	e.Vm = &types.VmEventArgument{EntityEventArgument: Named(vm.Name), Vm: vm.Self}
	e.Datacenter = DatacenterArgument(ctx, vm.Self)
	if len(vm.Datastore) > 0 {
		if ds, ok := ctx.Map.Get(vm.Datastore[0]).(*simulator.Datastore); ok {
			e.Ds = DatastoreArgument(ds)
		}
	}
	return types.VmEvent{Event: e}
}

// HostEvent returns the common part of an event about a host.
func HostEvent(ctx *simulator.Context, host *simulator.HostSystem, format string, args ...any) types.HostEvent {
	e := types.Event{
		CreatedTime:          time.Now(),
		FullFormattedMessage: fmt.Sprintf(format, args...),
		Host:                 HostArgument(host),
		Datacenter:           DatacenterArgument(ctx, host.Self),
	}
	if host.Parent != nil {
		if c, ok := Compute(ctx.Map.Get(*host.Parent)); ok {
			e.ComputeResource = &types.ComputeResourceEventArgument{EntityEventArgument: Named(c.Name), ComputeResource: c.Self}
		}
	}
	return types.HostEvent{Event: e}
}

// Named returns the name of an object for events.
func Named(name string) types.EntityEventArgument { return types.EntityEventArgument{Name: name} }

// HostArgument returns the reference to a host for events.
func HostArgument(h *simulator.HostSystem) *types.HostEventArgument {
	return &types.HostEventArgument{EntityEventArgument: Named(h.Name), Host: h.Self}
}

// DatastoreArgument returns the reference to a datastore for events.
func DatastoreArgument(ds *simulator.Datastore) *types.DatastoreEventArgument {
	return &types.DatastoreEventArgument{EntityEventArgument: Named(ds.Name), Datastore: ds.Self}
}

// DatacenterArgument returns the reference to an entity's datacenter for events, or nil outside of datacenters.
func DatacenterArgument(ctx *simulator.Context, ref Ref) *types.DatacenterEventArgument {
	dc, ok := Datacenter(ctx.Map, ref)
	if !ok {
		return nil
	}
	arg := &types.DatacenterEventArgument{Datacenter: dc}
	if e, ok := ctx.Map.Get(dc).(mo.Entity); ok {
		arg.Name = e.Entity().Name
	}
	return arg
}

// Without returns the list without ref; it reuses the list's memory.
func Without(list []Ref, ref Ref) []Ref {
	return slices.DeleteFunc(list, func(r Ref) bool { return r == ref })
}
