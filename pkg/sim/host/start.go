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

// PowerOnVMTask lets vcsim power a VM on, unless its host is leaving service or admission control refuses. DRS first moves a VM
// whose rules want it on another host.
func (h *Hosts) PowerOnVMTask(ctx *simulator.Context, req *types.PowerOnVM_Task) soap.HasFault {
	vm, ok := ctx.Map.Get(req.This).(*simulator.VirtualMachine)
	if !ok {
		return &methods.PowerOnVM_TaskBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	h.relocateToStart(ctx, vm, false)
	return h.start(ctx, vm, req)
}

// start checks and starts a VM while the relevant state of its host cannot change.
func (h *Hosts) start(ctx *simulator.Context, vm *simulator.VirtualMachine, req *types.PowerOnVM_Task) (body soap.HasFault) {
	lock, unlock := h.starting.RLock, h.starting.RUnlock
	if h.admit != nil {
		lock, unlock = h.starting.Lock, h.starting.Unlock // sequential, to count
	}
	lock()
	defer unlock()
	var fault types.BaseMethodFault
	if h.admit != nil {
		fault = h.admit(vm.Self)
	}
	ctx.WithLock(vm, func() {
		if f := h.startable(ctx, vm); f != nil {
			fault = f // the better reason
		}
		if fault == nil {
			body = vm.PowerOnVMTask(ctx, req)
			return
		}
		t := simulator.CreateTask(vm.Self, "powerOn", func(*simulator.Task) (types.AnyType, types.BaseMethodFault) { return nil, fault })
		body = &methods.PowerOnVM_TaskBody{Res: &types.PowerOnVM_TaskResponse{Returnval: t.Run(ctx)}}
	})
	// The task has taken the lock over, and releases it when the VM is on.
	done := vc.Fresh(ctx)
	done.WithLock(vm, func() {})
	return body
}

// startable returns the reason why the VM, whose lock is held, cannot be powered on, or nil.
func (h *Hosts) startable(ctx *simulator.Context, vm *simulator.VirtualMachine) types.BaseMethodFault {
	if vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn || vm.Config != nil && vm.Config.Template || vm.Runtime.Host == nil {
		return nil // vcsim returns the error
	}
	c := h.condition(*vm.Runtime.Host)
	if fault := c.fault(); fault != nil {
		return fault
	}
	if !c.usable() || h.connection(ctx, vm) != types.VirtualMachineConnectionStateConnected {
		return new(types.InvalidState)
	}
	return nil
}

// PowerOnMultiVMTask starts VMs of a datacenter. DRS moves a VM to another host if its host cannot run it.
func (h *Hosts) PowerOnMultiVMTask(ctx *simulator.Context, req *types.PowerOnMultiVM_Task) soap.HasFault {
	t := simulator.CreateTask(req.This, "powerOnMultiVM", func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		result := types.ClusterPowerOnVmResult{}
		for _, ref := range req.Vm {
			one := vc.Fresh(ctx)
			vm, ok := one.Map.Get(ref).(*simulator.VirtualMachine)
			if !ok {
				result.NotAttempted = append(result.NotAttempted, types.ClusterNotAttemptedVmInfo{
					Vm: ref, Fault: *localized(&types.ManagedObjectNotFound{Obj: ref}),
				})
				continue
			}
			h.relocateToStart(one, vm, true)
			body, ok := h.start(one, vm, &types.PowerOnVM_Task{This: ref}).(*methods.PowerOnVM_TaskBody)
			if !ok || body.Res == nil {
				result.NotAttempted = append(result.NotAttempted, types.ClusterNotAttemptedVmInfo{Vm: ref, Fault: *localized(new(types.InvalidState))})
				continue
			}
			result.Attempted = append(result.Attempted, types.ClusterAttemptedVmInfo{Vm: ref, Task: &body.Res.Returnval})
		}
		return result, nil
	})
	// Without the lock of the datacenter: a moving VM locks it, too.
	return &methods.PowerOnMultiVM_TaskBody{Res: &types.PowerOnMultiVM_TaskResponse{Returnval: vc.Run(ctx, t)}}
}

// relocateToStart moves a powered-off VM, where DRS would: to a host where its rules want it, and away from a host that cannot start
// it if evacuate is set.
func (h *Hosts) relocateToStart(ctx *simulator.Context, vm *simulator.VirtualMachine, evacuate bool) {
	var from vc.Ref
	ctx.WithLock(vm, func() {
		if vm.Runtime.Host != nil && vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOff {
			from = *vm.Runtime.Host
		}
	})
	host, ok := ctx.Map.Get(from).(*simulator.HostSystem)
	usable := ok && h.Usable(from)
	if !ok || !usable && !evacuate {
		return
	}
	cluster, ok := ctx.Map.Get(*host.Parent).(*simulator.ClusterComputeResource)
	if !ok || !Automated(ctx, cluster, vm.Self) {
		return
	}
	rules := RulesOf(ctx, cluster, vm.Self)
	if usable && rules.Fits(from) {
		return
	}
	// If both fail, the start returns the reason.
	if _, err := h.Migrate(vm.Self, from, 0, rules.Fits); err != nil && !(usable && rules.Allows(from)) {
		_, _ = h.Migrate(vm.Self, from, 0, rules.Allows)
	}
}

func localized(f types.BaseMethodFault) *types.LocalizedMethodFault {
	return &types.LocalizedMethodFault{Fault: f, LocalizedMessage: vc.Fault(f).Error()}
}

// PowerDownHostToStandByTask puts a host into standby once the VMs that must leave it have left.
func (h *Hosts) PowerDownHostToStandByTask(ctx *simulator.Context, req *types.PowerDownHostToStandBy_Task) soap.HasFault {
	ref := h.task(ctx, req.This, "PowerDownHostToStandBy", "powerDownToStandBy", func(host *simulator.HostSystem, t *simulator.Task) types.BaseMethodFault {
		var fault types.BaseMethodFault
		h.turn(host.Self, func(c *condition) bool {
			if fault = c.fault(); fault == nil && c.leaving {
				fault = new(types.InvalidState)
			}
			if fault == nil {
				c.leaving, c.mode = true, types.HostStandbyModeEntering
			}
			return fault == nil
		})
		if fault != nil {
			return fault
		}
		h.publish(host.Self, 0)
		vc.Post(ctx, &types.EnteringStandbyModeEvent{HostEvent: vc.HostEvent(ctx, host, "The host %s is entering standby mode", host.Name)})
		cause := h.logHost(host, event.Info, "host.entering-standby", "goes to standby when its VMs have left")
		all := req.EvacuatePoweredOffVms != nil && *req.EvacuatePoweredOffVms
		if fault := h.empty(ctx, host, t, all, cause, req.TimeoutSec, func(c *condition) {
			c.state, c.mode = standby, types.HostStandbyModeIn
		}); fault != nil {
			return fault
		}
		vc.Post(ctx, &types.EnteredStandbyModeEvent{HostEvent: vc.HostEvent(ctx, host, "The host %s is in standby mode", host.Name)})
		h.publish(host.Self, h.logHost(host, event.Warning, "host.standby", "is in standby"))
		return nil
	})
	return &methods.PowerDownHostToStandBy_TaskBody{Res: &types.PowerDownHostToStandBy_TaskResponse{Returnval: ref}}
}

// PowerUpHostFromStandByTask wakes a host, which takes Options.Boot.
func (h *Hosts) PowerUpHostFromStandByTask(ctx *simulator.Context, req *types.PowerUpHostFromStandBy_Task) soap.HasFault {
	ref := h.task(ctx, req.This, "PowerUpHostFromStandBy", "powerUpFromStandBy", func(host *simulator.HostSystem, _ *simulator.Task) types.BaseMethodFault {
		var fault types.BaseMethodFault
		h.turn(host.Self, func(c *condition) bool {
			switch {
			case c.disconnected:
				fault = new(types.HostNotConnected)
			case c.state != standby || c.mode != types.HostStandbyModeIn:
				fault = new(types.InvalidState)
			default:
				c.mode = types.HostStandbyModeExiting
			}
			return fault == nil
		})
		if fault != nil {
			return fault
		}
		h.publish(host.Self, 0)
		vc.Post(ctx, &types.ExitingStandbyModeEvent{HostEvent: vc.HostEvent(ctx, host, "The host %s is exiting standby mode", host.Name)})
		wait := h.opts.Boot
		if limit := time.Duration(req.TimeoutSec) * time.Second; limit > 0 && limit < wait {
			h.sleep(limit)
			h.turn(host.Self, func(c *condition) bool { c.mode = types.HostStandbyModeIn; return c.state == standby })
			h.publish(host.Self, 0)
			return new(types.Timedout)
		}
		if !h.sleep(wait) {
			return new(types.RequestCanceled)
		}
		if !h.rise(host, func(c condition) bool { return c.state == standby }) {
			return new(types.InvalidState) // it was restored otherwise
		}
		vc.Post(ctx, &types.ExitedStandbyModeEvent{HostEvent: vc.HostEvent(ctx, host, "The host %s is no longer in standby mode", host.Name)})
		return nil
	})
	return &methods.PowerUpHostFromStandBy_TaskBody{Res: &types.PowerUpHostFromStandBy_TaskResponse{Returnval: ref}}
}

// ShutdownHostTask powers off a host in maintenance mode, or, by force, any host with its running VMs.
func (h *Hosts) ShutdownHostTask(ctx *simulator.Context, req *types.ShutdownHost_Task) soap.HasFault {
	ref := h.task(ctx, req.This, "ShutdownHost", "shutdown", func(host *simulator.HostSystem, _ *simulator.Task) types.BaseMethodFault {
		return h.down(ctx, host, off, req.Force, "host.shutdown", "shut down by "+user(ctx))
	})
	return &methods.ShutdownHost_TaskBody{Res: &types.ShutdownHost_TaskResponse{Returnval: ref}}
}

// RebootHostTask shuts a host down like [Hosts.ShutdownHostTask] and starts it after Options.Boot. The task ends with the
// shutdown, when the host does not respond.
func (h *Hosts) RebootHostTask(ctx *simulator.Context, req *types.RebootHost_Task) soap.HasFault {
	ref := h.task(ctx, req.This, "RebootHost", "reboot", func(host *simulator.HostSystem, _ *simulator.Task) types.BaseMethodFault {
		if fault := h.down(ctx, host, booting, req.Force, "host.rebooting", "rebooted by "+user(ctx)); fault != nil {
			return fault
		}
		boots := h.condition(host.Self).boots
		if h.begin() {
			go func() {
				defer h.work.Done()
				if h.sleep(h.opts.Boot) {
					h.rise(host, func(c condition) bool { return c.state == booting && c.boots == boots })
				}
			}()
		}
		return nil
	})
	return &methods.RebootHost_TaskBody{Res: &types.RebootHost_TaskResponse{Returnval: ref}}
}

// down shuts a host down.
func (h *Hosts) down(ctx *simulator.Context, host *simulator.HostSystem, to state, force bool, kind, message string) types.BaseMethodFault {
	var fault types.BaseMethodFault
	h.turn(host.Self, func(c *condition) bool {
		if fault = c.fault(); fault == nil && !force && !c.maintenance {
			fault = new(types.InvalidState)
		}
		if fault != nil {
			return false
		}
		c.state, c.leaving, c.mode = to, false, ""
		return true
	})
	if fault != nil {
		return fault
	}
	e := vc.HostEvent(ctx, host, "")
	e.FullFormattedMessage = "Shut down of " + host.Name + " in " + placeOf(e) + ": " + message
	vc.Post(ctx, &types.HostShutdownEvent{HostEvent: e, Reason: message})
	seq := h.logHost(host, event.Warning, kind, message)
	h.publish(host.Self, seq)
	h.postLost(host)
	h.logDeath(host.Self, seq)
	return nil
}

// sleep waits for d, and returns false if it was interrupted.
func (h *Hosts) sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-h.stop:
		return false
	}
}
