package host

import (
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

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
				vc.Post(one, &types.NoMaintenanceModeDrsRecommendationForVM{VmEvent: vmEvent(one, vm,
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
		e := Event(ctx, host, "")
		e.FullFormattedMessage = "Host " + host.Name + " in " + placeOf(e) + " has started to enter maintenance mode"
		vc.Post(ctx, &types.EnteringMaintenanceModeEvent{HostEvent: e})
		cause := h.logHost(host, event.Info, "host.entering-maintenance", "enters maintenance mode when its VMs have left")
		all := req.EvacuatePoweredOffVms != nil && *req.EvacuatePoweredOffVms
		if fault := h.empty(ctx, host, t, all, cause, req.Timeout, func(c *condition) { c.maintenance = true }); fault != nil {
			return fault
		}
		e = Event(ctx, host, "")
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
		e := Event(ctx, host, "")
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
		e := Event(ctx, host, "")
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
