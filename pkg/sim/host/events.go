package host

import (
	"fmt"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// Argument returns the reference to a host for events.
func Argument(host *simulator.HostSystem) *types.HostEventArgument {
	return &types.HostEventArgument{EntityEventArgument: types.EntityEventArgument{Name: host.Name}, Host: host.Self}
}

// Event returns the common part of an event about a host.
func Event(ctx *simulator.Context, host *simulator.HostSystem, format string, args ...any) types.HostEvent {
	e := types.Event{
		CreatedTime:          time.Now(),
		FullFormattedMessage: fmt.Sprintf(format, args...),
		Host:                 Argument(host),
		Datacenter:           datacenter(ctx, host.Self),
	}
	if host.Parent != nil {
		if c, ok := vc.Compute(ctx.Map.Get(*host.Parent)); ok {
			e.ComputeResource = &types.ComputeResourceEventArgument{
				EntityEventArgument: types.EntityEventArgument{Name: c.Name}, ComputeResource: c.Self,
			}
		}
	}
	return types.HostEvent{Event: e}
}

// vmEvent returns the common part of an event about a VM whose lock is held.
func vmEvent(ctx *simulator.Context, vm *simulator.VirtualMachine, format string, args ...any) types.VmEvent {
	var e types.Event
	if vm.Runtime.Host != nil {
		if host, ok := ctx.Map.Get(*vm.Runtime.Host).(*simulator.HostSystem); ok {
			e = Event(ctx, host, "").Event
		}
	}
	e.CreatedTime = time.Now()
	e.FullFormattedMessage = fmt.Sprintf(format, args...)
	e.Vm = &types.VmEventArgument{EntityEventArgument: types.EntityEventArgument{Name: vm.Name}, Vm: vm.Self}
	e.Datacenter = datacenter(ctx, vm.Self)
	if len(vm.Datastore) > 0 {
		if ds, ok := ctx.Map.Get(vm.Datastore[0]).(*simulator.Datastore); ok {
			e.Ds = &types.DatastoreEventArgument{EntityEventArgument: types.EntityEventArgument{Name: ds.Name}, Datastore: ds.Self}
		}
	}
	return types.VmEvent{Event: e}
}

func datacenter(ctx *simulator.Context, ref vc.Ref) *types.DatacenterEventArgument {
	dc, ok := vc.Datacenter(ctx.Map, ref)
	if !ok {
		return nil
	}
	arg := &types.DatacenterEventArgument{Datacenter: dc}
	if e, ok := ctx.Map.Get(dc).(mo.Entity); ok {
		arg.Name = e.Entity().Name
	}
	return arg
}

func nameOf(host *types.HostEventArgument) string {
	if host == nil {
		return ""
	}
	return host.Name
}

// placeOf returns the datacenter of an event.
func placeOf(e types.HostEvent) string {
	if e.Datacenter == nil {
		return "no datacenter"
	}
	return e.Datacenter.Name
}

// Causing makes seq the cause of what happens to the object (host, datastore, VM) until release is called. The latest one counts.
func (h *Hosts) Causing(ref types.ManagedObjectReference, seq uint64) (release func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.causes[ref] = seq
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.causes[ref] == seq {
			delete(h.causes, ref)
		}
	}
}

// log appends an event to the log and returns its number. It looks up a cause of 0.
func (h *Hosts) log(obj event.Object, ref vc.Ref, level event.Level, kind string, cause uint64, message string) uint64 {
	if h.opts.Events == nil {
		return 0
	}
	if cause == 0 {
		h.mu.Lock()
		cause = h.causes[ref]
		h.mu.Unlock()
	}
	obj.VCenter = h.opts.VCenter
	return h.opts.Events.Append(event.Event{
		Plane: event.PlaneVSphere, Level: level, Kind: kind, Object: obj, Message: message, Cause: cause,
	})
}

func (h *Hosts) logHost(host *simulator.HostSystem, level event.Level, kind, message string) uint64 {
	return h.log(event.Object{Kind: "Host", Name: host.Name}, host.Self, level, kind, 0, message)
}

// causing passes the cause to the component that logs the VM's events.
func (h *Hosts) causing(vm vc.Ref, seq uint64) (release func()) {
	if h.opts.Causing == nil || seq == 0 {
		return func() {}
	}
	return h.opts.Causing(vm, seq)
}
