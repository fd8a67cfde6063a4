package guest

import (
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// ShutdownGuest starts a shutdown of the guest, which takes Options.ShutdownDelay.
func (g *Guests) ShutdownGuest(ctx *simulator.Context, req *types.ShutdownGuest) soap.HasFault {
	fault := g.ask(ctx, req.This, stepShutdown, "guest.shutting-down", types.VirtualMachineGuestStateShuttingDown, func(e types.VmEvent) types.BaseEvent {
		e.FullFormattedMessage = "Guest OS shut down for " + e.Vm.Name
		return &types.VmGuestShutdownEvent{VmEvent: e}
	})
	if fault != nil {
		return &methods.ShutdownGuestBody{Fault_: simulator.Fault("", fault)}
	}
	return &methods.ShutdownGuestBody{Res: new(types.ShutdownGuestResponse)}
}

// StandbyGuest starts a suspend of the VM by its guest, which takes Options.ShutdownDelay.
func (g *Guests) StandbyGuest(ctx *simulator.Context, req *types.StandbyGuest) soap.HasFault {
	fault := g.ask(ctx, req.This, stepStandby, "guest.suspending", types.VirtualMachineGuestStateStandby, func(e types.VmEvent) types.BaseEvent {
		e.FullFormattedMessage = "Guest OS standby for " + e.Vm.Name
		return &types.VmGuestStandbyEvent{VmEvent: e}
	})
	if fault != nil {
		return &methods.StandbyGuestBody{Fault_: simulator.Fault("", fault)}
	}
	return &methods.StandbyGuestBody{Res: new(types.StandbyGuestResponse)}
}

// ask asks the guest of a VM to end, if its tools run.
func (g *Guests) ask(ctx *simulator.Context, ref vc.Ref, next step, kind string, state types.VirtualMachineGuestState, about func(types.VmEvent) types.BaseEvent) (fault types.BaseMethodFault) {
	vm, ok := ctx.Map.Get(ref).(*simulator.VirtualMachine)
	m := g.find(ref)
	if !ok || m == nil {
		return &types.ManagedObjectNotFound{Obj: ref}
	}
	ctx.WithLock(vm, func() {
		if fault = hears(vm); fault != nil {
			return
		}
		vc.Post(ctx, about(vmEvent(ctx, vm)))
		cause := g.log(m, event.Info, kind, 0, "guest was asked to end")
		ctx.Update(vm, []types.PropertyChange{vc.P("guest.guestState", string(state))})
		g.boots.add(boot{ref: ref, step: next, cycle: m.cycle, cause: cause, due: time.Now().Add(g.opts.ShutdownDelay)})
	})
	return fault
}

// hears returns the reason why the guest cannot be asked, or nil.
func hears(vm *simulator.VirtualMachine) types.BaseMethodFault {
	if vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
		return &types.InvalidPowerState{
			RequestedState: types.VirtualMachinePowerStatePoweredOn, ExistingState: vm.Runtime.PowerState,
		}
	}
	if vm.Guest == nil || vm.Guest.ToolsRunningStatus != string(types.VirtualMachineToolsRunningStatusGuestToolsRunning) {
		return new(types.ToolsUnavailable)
	}
	return nil
}

// vmEvent returns the common part of an event about a VM whose lock is held.
func vmEvent(ctx *simulator.Context, vm *simulator.VirtualMachine) types.VmEvent {
	e := types.Event{
		CreatedTime: time.Now(),
		Vm:          &types.VmEventArgument{EntityEventArgument: types.EntityEventArgument{Name: vm.Name}, Vm: vm.Self},
	}
	if vm.Runtime.Host != nil {
		if h, ok := ctx.Map.Get(*vm.Runtime.Host).(*simulator.HostSystem); ok {
			e.Host = &types.HostEventArgument{EntityEventArgument: types.EntityEventArgument{Name: h.Name}, Host: h.Self}
			if c, ok := vc.Compute(ctx.Map.Get(*h.Parent)); ok {
				e.ComputeResource = &types.ComputeResourceEventArgument{EntityEventArgument: types.EntityEventArgument{Name: c.Name}, ComputeResource: c.Self}
			}
		}
	}
	if dc, ok := vc.Datacenter(ctx.Map, vm.Self); ok {
		e.Datacenter = &types.DatacenterEventArgument{Datacenter: dc}
		if d, ok := ctx.Map.Get(dc).(mo.Entity); ok {
			e.Datacenter.Name = d.Entity().Name
		}
	}
	return types.VmEvent{Event: e}
}

// UnregisterVM lets vcsim remove the VM from the inventory, and records that it was not destroyed.
func (g *Guests) UnregisterVM(ctx *simulator.Context, req *types.UnregisterVM) (body soap.HasFault) {
	vm, ok := ctx.Map.Get(req.This).(*simulator.VirtualMachine)
	if !ok {
		return &methods.UnregisterVMBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	ctx.WithLock(vm, func() {
		file := vmxOf(ctx, &vm.VirtualMachine)
		err := g.keep(&vm.VirtualMachine, file)
		if err != nil {
			body = &methods.UnregisterVMBody{Fault_: simulator.Fault(err.Error(), new(types.InvalidVmConfig))}
			return
		}
		g.mu.Lock()
		g.unregistering[req.This] = true
		g.mu.Unlock()
		body = vm.UnregisterVM(ctx, req)
		g.mu.Lock()
		delete(g.unregistering, req.This)
		if body.Fault() != nil {
			delete(g.kept, file)
		}
		g.mu.Unlock()
	})
	return body
}
