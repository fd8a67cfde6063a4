package host

import (
	"errors"
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// ErrNoHost means that no other host can take a VM.
var ErrNoHost = errors.New("no host can take the VM")

// errElsewhere means that a VM has left the host.
var errElsewhere = errors.New("the VM is not on the host any more")

// Migrate moves the VM to another host of its cluster, as DRS does: the one with the fewest VMs that can take it and that accept,
// if not nil, allows. cause is the event that caused it, or 0. It returns the VM's host.
func (h *Hosts) Migrate(ref, from types.ManagedObjectReference, cause uint64, accept func(types.ManagedObjectReference) bool) (types.ManagedObjectReference, error) {
	ctx := vc.Fresh(h.base)
	vm, source, err := h.pair(ctx, ref, from)
	if err != nil {
		return vc.Ref{}, err
	}
	defer h.causing(ref, cause)()
	var to vc.Ref
	ctx.WithLock(vm, func() {
		if vm.Runtime.Host == nil || *vm.Runtime.Host != from {
			err = errElsewhere
			return
		}
		if h.connection(ctx, vm) != types.VirtualMachineConnectionStateConnected {
			err = ErrNoHost
			return
		}
		var target *simulator.HostSystem
		if target, err = h.choose(ctx, *source.Parent, vm.Datastore, func(r vc.Ref) bool { return r != from && (accept == nil || accept(r)) }); err != nil {
			return
		}
		to = target.Self
		e := types.VmMigratedEvent{SourceHost: *Argument(source), SourceDatacenter: datacenter(ctx, ref)}
		e.SourceDatastore = vmEvent(ctx, vm, "").Ds
		h.place(ctx, vm, from, to)
		e.VmEvent = vmEvent(ctx, vm, "DRS migrated %s from %s to %s", vm.Name, source.Name, target.Name)
		vc.Post(ctx, &types.DrsVmMigratedEvent{VmMigratedEvent: e})
	})
	return to, err
}

// Restart starts a VM that died with the host, as HA does: on the host of its cluster with the fewest VMs that can take it and
// that accept, if not nil, allows. It does nothing for a VM that is on again or has left the host. It returns the VM's host;
// cause as for [Hosts.Migrate]; moved reports whether the host is another one.
func (h *Hosts) Restart(ref, from types.ManagedObjectReference, cause uint64, accept func(types.ManagedObjectReference) bool) (to types.ManagedObjectReference, moved bool, err error) {
	h.starting.RLock()
	defer h.starting.RUnlock()
	ctx := vc.Fresh(h.base)
	vm, source, err := h.pair(ctx, ref, from)
	if err != nil {
		return vc.Ref{}, false, err
	}
	defer h.causing(ref, cause)()
	ctx.WithLock(vm, func() {
		on := vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn
		if ctx.Map.Get(ref) == nil || vm.Runtime.Host == nil || *vm.Runtime.Host != from || on != h.Dead(from) {
			err = errElsewhere
			return
		}
		var target *simulator.HostSystem
		if target, err = h.choose(ctx, *source.Parent, vm.Datastore, accept); err != nil {
			return
		}
		to, moved = target.Self, target.Self != from
		if on {
			powered(ctx, vm, types.VirtualMachinePowerStatePoweredOff)
		}
		if moved {
			h.place(ctx, vm, from, to)
		}
		h.settleLocked(ctx, vm, cause)
		powered(ctx, vm, types.VirtualMachinePowerStatePoweredOn)
		h.postRestart(ctx, vm, target)
	})
	if errors.Is(err, errElsewhere) {
		err = nil
	}
	return to, moved, err
}

// postRestart adds the event of a restart by HA to the vCenter's history, in the form that replaced
// VmRestartedOnAlternateHostEvent.
func (h *Hosts) postRestart(ctx *simulator.Context, vm *simulator.VirtualMachine, target *simulator.HostSystem) {
	e := vmEvent(ctx, vm, "")
	e.FullFormattedMessage = "vSphere HA restarted virtual machine " + vm.Name + " on host " + target.Name
	if e.ComputeResource != nil {
		e.FullFormattedMessage += " in cluster " + e.ComputeResource.Name
	}
	vc.Post(ctx, &types.EventEx{
		Event: e.Event, EventTypeId: "com.vmware.vc.ha.VmRestartedByHAEvent", Severity: string(types.EventEventSeverityInfo),
		Message: e.FullFormattedMessage, ObjectId: vm.Self.Value, ObjectType: vm.Self.Type, ObjectName: vm.Name,
	})
	vc.Post(ctx, &types.VmPoweredOnEvent{VmEvent: vmEvent(ctx, vm, "%s on %s is powered on", vm.Name, target.Name)})
}

func (h *Hosts) pair(ctx *simulator.Context, vm, host vc.Ref) (*simulator.VirtualMachine, *simulator.HostSystem, error) {
	v, ok := ctx.Map.Get(vm).(*simulator.VirtualMachine)
	if !ok {
		return nil, nil, errElsewhere
	}
	s, ok := ctx.Map.Get(host).(*simulator.HostSystem)
	if !ok || s.Parent == nil {
		return nil, nil, ErrNoHost
	}
	return v, s, nil
}

// place moves the VM, whose lock is held, between the lists of two hosts.
func (h *Hosts) place(ctx *simulator.Context, vm *simulator.VirtualMachine, from, to vc.Ref) {
	relist(ctx, from, func(l []vc.Ref) []vc.Ref { return without(l, vm.Self) })
	relist(ctx, to, func(l []vc.Ref) []vc.Ref { return append(without(l, vm.Self), vm.Self) })
	ctx.Update(vm, []types.PropertyChange{vc.P("runtime.host", to), vc.P("summary.runtime.host", to)})
}

// relist replaces a host's list of VMs by a changed copy.
func relist(ctx *simulator.Context, ref vc.Ref, change func([]vc.Ref) []vc.Ref) {
	host, ok := ctx.Map.Get(ref).(*simulator.HostSystem)
	if !ok {
		return
	}
	ctx.WithLock(host, func() {
		ctx.Update(host, []types.PropertyChange{vc.P("vm", change(slices.Clone(host.Vm)))})
	})
}

func without(l []vc.Ref, ref vc.Ref) []vc.Ref {
	return slices.DeleteFunc(l, func(r vc.Ref) bool { return r == ref })
}

// choose returns the usable host of the compute resource with the fewest VMs that reaches the datastores and that accept, if not
// nil, allows; of equal ones the first.
func (h *Hosts) choose(ctx *simulator.Context, compute vc.Ref, datastores []vc.Ref, accept func(vc.Ref) bool) (*simulator.HostSystem, error) {
	obj := ctx.Map.Get(compute)
	c, ok := vc.Compute(obj)
	if !ok {
		return nil, ErrNoHost
	}
	var hosts []vc.Ref
	ctx.WithLock(obj, func() { hosts = slices.Clone(c.Host) })
	var best *simulator.HostSystem
	fewest := 0
	for _, ref := range hosts {
		host, ok := ctx.Map.Get(ref).(*simulator.HostSystem)
		if !ok || !h.Usable(ref) || accept != nil && !accept(ref) {
			continue
		}
		if slices.ContainsFunc(datastores, func(d vc.Ref) bool {
			ds, ok := ctx.Map.Get(d).(*simulator.Datastore)
			return ok && !reaches(ctx, ds, ref)
		}) {
			continue
		}
		if n := len(vmsOf(ctx, host)); best == nil || n < fewest {
			best, fewest = host, n
		}
	}
	if best == nil {
		return nil, ErrNoHost
	}
	return best, nil
}
