package truth

import (
	"fmt"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// vmEvent returns the common part of an event about a VM whose lock is held.
func vmEvent(ctx *simulator.Context, vm *simulator.VirtualMachine, format string, args ...any) types.VmEvent {
	e := types.Event{
		CreatedTime:          time.Now(),
		FullFormattedMessage: fmt.Sprintf(format, args...),
		Vm:                   &types.VmEventArgument{EntityEventArgument: entity(vm.Name), Vm: vm.Self},
	}
	if ctx.Session != nil {
		e.UserName = ctx.Session.UserName
	}
	if vm.Runtime.Host != nil {
		if h, ok := ctx.Map.Get(*vm.Runtime.Host).(*simulator.HostSystem); ok {
			e.Host = hostArgument(h)
			if c, ok := vc.Compute(ctx.Map.Get(*h.Parent)); ok {
				e.ComputeResource = &types.ComputeResourceEventArgument{EntityEventArgument: entity(c.Name), ComputeResource: c.Self}
			}
		}
	}
	if dc, ok := datacenter(ctx, vm.Self); ok {
		e.Datacenter = dc
	}
	if len(vm.Datastore) > 0 {
		if ds, ok := ctx.Map.Get(vm.Datastore[0]).(*simulator.Datastore); ok {
			e.Ds = datastoreArgument(ds)
		}
	}
	return types.VmEvent{Event: e}
}

func entity(name string) types.EntityEventArgument { return types.EntityEventArgument{Name: name} }

func hostArgument(h *simulator.HostSystem) *types.HostEventArgument {
	return &types.HostEventArgument{EntityEventArgument: entity(h.Name), Host: h.Self}
}

func datastoreArgument(ds *simulator.Datastore) *types.DatastoreEventArgument {
	return &types.DatastoreEventArgument{EntityEventArgument: entity(ds.Name), Datastore: ds.Self}
}

func datacenter(ctx *simulator.Context, ref vc.Ref) (*types.DatacenterEventArgument, bool) {
	dc, ok := vc.Datacenter(ctx.Map, ref)
	if !ok {
		return nil, false
	}
	arg := &types.DatacenterEventArgument{Datacenter: dc}
	if e, ok := ctx.Map.Get(dc).(mo.Entity); ok {
		arg.Name = e.Entity().Name
	}
	return arg, true
}

// anchorEvent sets the root folder as the object of an EventEx without one: vcsim's alarms look the object up in the inventory,
// and a panic in the event manager blocks the vCenter.
func anchorEvent(ctx *simulator.Context, method *simulator.Method) {
	req, ok := method.Body.(*types.PostEvent)
	if !ok {
		return
	}
	e, ok := req.EventToPost.(*types.EventEx)
	if !ok {
		return
	}
	if _, known := ctx.Map.Get(vc.Ref{Type: e.ObjectType, Value: e.ObjectId}).(mo.Entity); known {
		return
	}
	if s, ok := ctx.Map.Get(vim25.ServiceInstance).(*simulator.ServiceInstance); ok {
		e.ObjectType, e.ObjectId = s.Content.RootFolder.Type, s.Content.RootFolder.Value
	}
}
