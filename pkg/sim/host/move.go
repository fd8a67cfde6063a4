package host

import (
	"errors"
	"slices"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
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
		elsewhere := func(r vc.Ref) bool { return r != from && (accept == nil || accept(r)) }
		if target, err = h.chooseFor(ctx, vm, *source.Parent, elsewhere); err != nil {
			return
		}
		to = target.Self
		e := types.VmMigratedEvent{SourceHost: *vc.HostArgument(source), SourceDatacenter: vc.DatacenterArgument(ctx, ref)}
		e.SourceDatastore = vc.VMEvent(ctx, vm, "").Ds
		h.place(ctx, vm, from, to)
		e.VmEvent = vc.VMEvent(ctx, vm, "DRS migrated %s from %s to %s", vm.Name, source.Name, target.Name)
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
		if target, err = h.chooseFor(ctx, vm, *source.Parent, accept); err != nil {
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
	e := vc.VMEvent(ctx, vm, "")
	e.FullFormattedMessage = "vSphere HA restarted virtual machine " + vm.Name + " on host " + target.Name
	if e.ComputeResource != nil {
		e.FullFormattedMessage += " in cluster " + e.ComputeResource.Name
	}
	vc.Post(ctx, &types.EventEx{
		Event: e.Event, EventTypeId: "com.vmware.vc.ha.VmRestartedByHAEvent", Severity: string(types.EventEventSeverityInfo),
		Message: e.FullFormattedMessage, ObjectId: vm.Self.Value, ObjectType: vm.Self.Type, ObjectName: vm.Name,
	})
	vc.Post(ctx, &types.VmPoweredOnEvent{VmEvent: vc.VMEvent(ctx, vm, "%s on %s is powered on", vm.Name, target.Name)})
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
	relist(ctx, from, func(l []vc.Ref) []vc.Ref { return vc.Without(l, vm.Self) })
	relist(ctx, to, func(l []vc.Ref) []vc.Ref { return append(vc.Without(l, vm.Self), vm.Self) })
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

// chooseFor is choose for a VM, by its rules: a host that fits them all, or else one that the mandatory ones allow.
func (h *Hosts) chooseFor(ctx *simulator.Context, vm *simulator.VirtualMachine, compute vc.Ref, accept func(vc.Ref) bool) (*simulator.HostSystem, error) {
	r := rules(ctx, compute, vm.Self)
	if len(r.should) > 0 {
		best, err := h.choose(ctx, compute, vm.Datastore, func(ref vc.Ref) bool { return r.Fits(ref) && (accept == nil || accept(ref)) })
		if err == nil {
			return best, nil
		}
	}
	return h.choose(ctx, compute, vm.Datastore, func(ref vc.Ref) bool { return r.Allows(ref) && (accept == nil || accept(ref)) })
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

// remaining lists the VMs that keep the host in service: those that are on, or all of them with all.
func (h *Hosts) remaining(host *simulator.HostSystem, all bool) []vc.Ref {
	var left []vc.Ref
	ctx := vc.Fresh(h.base)
	for _, ref := range vmsOf(ctx, host) {
		vm, ok := ctx.Map.Get(ref).(*simulator.VirtualMachine)
		if !ok {
			continue
		}
		ctx.WithLock(vm, func() {
			if all || vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn {
				left = append(left, ref)
			}
		})
	}
	return left
}

// evacuate moves the VMs that DRS can move, and returns the number of remaining ones. It reports once for each VM that no other
// host can take it.
func (h *Hosts) evacuate(ctx *simulator.Context, host *simulator.HostSystem, all bool, cause uint64, refused map[vc.Ref]bool) int {
	left := h.remaining(host, all)
	cluster, ok := ctx.Map.Get(*host.Parent).(*simulator.ClusterComputeResource)
	if !ok {
		return len(left)
	}
	stay := 0
	for _, ref := range left {
		if !Automated(ctx, cluster, ref) {
			stay++
			continue
		}
		if _, err := h.Migrate(ref, host.Self, cause, nil); err == nil {
			continue
		}
		stay++
		if vm, ok := ctx.Map.Get(ref).(*simulator.VirtualMachine); ok && !refused[ref] {
			refused[ref] = true
			one := vc.Fresh(ctx)
			one.WithLock(vm, func() {
				vc.Post(one, &types.NoMaintenanceModeDrsRecommendationForVM{VmEvent: vc.VMEvent(one, vm,
					"Unable to automatically migrate %s from %s", vm.Name, host.Name)})
			})
		}
	}
	return stay
}

// Automated reports whether DRS moves the VM automatically: it is enabled for cluster and VM, and fully automated.
func Automated(ctx *simulator.Context, cluster *simulator.ClusterComputeResource, vm types.ManagedObjectReference) (yes bool) {
	automatic := func(b types.DrsBehavior) bool { return b == "" || b == types.DrsBehaviorFullyAutomated }
	ctx.WithLock(cluster, func() {
		config, ok := cluster.ConfigurationEx.(*types.ClusterConfigInfoEx)
		if !ok || config.DrsConfig.Enabled == nil || !*config.DrsConfig.Enabled {
			return
		}
		yes = automatic(config.DrsConfig.DefaultVmBehavior)
		for _, o := range config.DrsVmConfig {
			if o.Key == vm {
				yes = (o.Enabled == nil || *o.Enabled) && (o.Behavior == "" && yes || o.Behavior == types.DrsBehaviorFullyAutomated)
			}
		}
	})
	return yes
}

// EnterMaintenanceModeTask puts a host into maintenance mode once no VM runs on it. Fully automated DRS moves its VMs; elsewhere
// the task waits until users move them or power them off.
func (h *Hosts) EnterMaintenanceModeTask(ctx *simulator.Context, req *types.EnterMaintenanceMode_Task) soap.HasFault {
	ref := h.task(ctx, req.This, "EnterMaintenanceMode", "enterMaintenanceMode", func(host *simulator.HostSystem, t *simulator.Task) types.BaseMethodFault {
		var fault types.BaseMethodFault
		h.turn(host.Self, func(c *condition) bool {
			if fault = c.fault(); fault == nil && (c.leaving || c.maintenance) {
				fault = new(types.InvalidState)
			}
			if fault == nil {
				c.leaving = true
			}
			return fault == nil
		})
		if fault != nil {
			return fault
		}
		e := vc.HostEvent(ctx, host, "")
		e.FullFormattedMessage = "Host " + host.Name + " in " + placeOf(e) + " has started to enter maintenance mode"
		vc.Post(ctx, &types.EnteringMaintenanceModeEvent{HostEvent: e})
		cause := h.logHost(host, event.Info, "host.entering-maintenance", "enters maintenance mode when its VMs have left")
		all := req.EvacuatePoweredOffVms != nil && *req.EvacuatePoweredOffVms
		if fault := h.empty(ctx, host, t, all, cause, req.Timeout, func(c *condition) { c.maintenance = true }); fault != nil {
			return fault
		}
		e = vc.HostEvent(ctx, host, "")
		e.FullFormattedMessage = "Host " + host.Name + " in " + placeOf(e) + " has entered maintenance mode"
		vc.Post(ctx, &types.EnteredMaintenanceModeEvent{HostEvent: e})
		h.logHost(host, event.Warning, "host.maintenance", "is in maintenance mode")
		return nil
	})
	return &methods.EnterMaintenanceMode_TaskBody{Res: &types.EnterMaintenanceMode_TaskResponse{Returnval: ref}}
}

// ExitMaintenanceModeTask ends maintenance mode. VMs do not return automatically.
func (h *Hosts) ExitMaintenanceModeTask(ctx *simulator.Context, req *types.ExitMaintenanceMode_Task) soap.HasFault {
	ref := h.task(ctx, req.This, "ExitMaintenanceMode", "exitMaintenanceMode", func(host *simulator.HostSystem, _ *simulator.Task) types.BaseMethodFault {
		var fault types.BaseMethodFault
		h.starting.Lock()
		h.turn(host.Self, func(c *condition) bool {
			if fault = c.fault(); fault == nil && !c.maintenance {
				fault = new(types.InvalidState)
			}
			if fault == nil {
				c.maintenance = false
			}
			return fault == nil
		})
		if fault == nil {
			h.publish(host.Self, 0)
		}
		h.starting.Unlock()
		if fault != nil {
			return fault
		}
		e := vc.HostEvent(ctx, host, "")
		e.FullFormattedMessage = "Host " + host.Name + " in " + placeOf(e) + " has exited maintenance mode"
		vc.Post(ctx, &types.ExitMaintenanceModeEvent{HostEvent: e})
		h.logHost(host, event.Info, "host.maintenance-ended", "is back from maintenance mode")
		return nil
	})
	return &methods.ExitMaintenanceMode_TaskBody{Res: &types.ExitMaintenanceMode_TaskResponse{Returnval: ref}}
}

// empty waits until the VMs that must leave the host have left, moving them where DRS would, and then makes the change. A fault
// cancels it. seconds <= 0 means no limit.
func (h *Hosts) empty(ctx *simulator.Context, host *simulator.HostSystem, t *simulator.Task, all bool, cause uint64, seconds int32, change func(*condition)) (fault types.BaseMethodFault) {
	defer func() {
		if fault == nil {
			return
		}
		h.turn(host.Self, func(c *condition) bool { c.leaving, c.mode = false, ""; return c.state == running })
		h.publish(host.Self, 0)
		e := vc.HostEvent(ctx, host, "")
		e.FullFormattedMessage = "The operation performed on " + host.Name + " in " + placeOf(e) + " was canceled"
		vc.Post(ctx, &types.CanceledHostOperationEvent{HostEvent: e})
		h.logHost(host, event.Warning, "host.stays", "does not leave service after all")
	}()
	var expired <-chan time.Time
	if seconds > 0 {
		timer := time.NewTimer(time.Duration(seconds) * time.Second)
		defer timer.Stop()
		expired = timer.C
	}
	refused := make(map[vc.Ref]bool)
	for {
		changed := h.watcher.next() // before reading, to miss no change
		if c := h.condition(host.Self); c.fault() != nil || !c.leaving {
			return new(types.InvalidState) // the host was lost
		}
		if canceled(ctx, t) {
			return new(types.RequestCanceled)
		}
		left := h.evacuate(ctx, host, all, cause, refused)
		if left == 0 && h.enter(host, all, change) {
			return nil
		}
		if left == 0 {
			continue // one was started since
		}
		select {
		case <-changed:
		case <-expired:
			return new(types.Timedout)
		case <-h.stop:
			return new(types.RequestCanceled)
		}
	}
}

// enter makes the change if the host is empty, while no VM is being started.
func (h *Hosts) enter(host *simulator.HostSystem, all bool, change func(*condition)) bool {
	h.starting.Lock()
	defer h.starting.Unlock()
	if len(h.remaining(host, all)) > 0 {
		return false
	}
	if !h.turn(host.Self, func(c *condition) bool {
		if !c.leaving || c.fault() != nil {
			return false
		}
		c.leaving = false
		change(c)
		return true
	}) {
		return false
	}
	h.publish(host.Self, 0)
	return true
}
