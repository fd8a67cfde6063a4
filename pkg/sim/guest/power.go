package guest

import (
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// powered follows a change of power. It changes all properties with the VM's lock held, within vcsim's change.
func (g *Guests) powered(ctx *simulator.Context, m *vmState, vm *mo.VirtualMachine) {
	from := m.power
	if m.power = vm.Runtime.PowerState; m.power == from {
		return
	}
	m.cycle++
	switch m.power {
	case types.VirtualMachinePowerStatePoweredOn:
		delay, message := g.bootDelay(m), "powered on"
		if from == types.VirtualMachinePowerStateSuspended {
			// It continues where it stopped; vSphere's documentation says that a resume keeps bootTime.
			delay, message = 0, "resumed from suspend"
		} else {
			m.boot = time.Now()
		}
		cause := g.log(m, event.Info, "vm.powered-on", 0, message)
		g.setBoot(ctx, m, vm)
		g.goDown(ctx, m, vm, cause)
		g.customized(m, vm)
		g.schedule(m, vm.Self, delay, cause)
	case types.VirtualMachinePowerStateSuspended:
		cause := g.log(m, event.Warning, "vm.suspended", 0, "suspended")
		g.setBoot(ctx, m, vm)
		g.goDown(ctx, m, vm, cause)
		g.boots.cancel(vm.Self)
	case types.VirtualMachinePowerStatePoweredOff:
		m.boot = time.Time{}
		cause := g.log(m, event.Warning, "vm.powered-off", 0, "powered off")
		g.setBoot(ctx, m, vm)
		g.goDown(ctx, m, vm, cause)
		g.boots.cancel(vm.Self)
	}
}

// reset follows a new boot time: the VM was reset without a change of its power state.
func (g *Guests) reset(ctx *simulator.Context, m *vmState, vm *mo.VirtualMachine) {
	t := vm.Runtime.BootTime
	if t == nil || t.Equal(m.boot) || m.power != types.VirtualMachinePowerStatePoweredOn {
		return
	}
	m.boot = *t
	g.restart(ctx, m, vm, g.log(m, event.Warning, "vm.reset", 0, "reset"))
}

// restart boots the guest again while the VM stays on.
func (g *Guests) restart(ctx *simulator.Context, m *vmState, vm *mo.VirtualMachine, cause uint64) {
	m.cycle++
	if down := g.goDown(ctx, m, vm, cause); cause == 0 {
		cause = down
	}
	g.schedule(m, vm.Self, g.bootDelay(m), cause)
}

// setBoot sets the boot time where vSphere has it; vcsim sets one of the two places, at every change.
func (g *Guests) setBoot(ctx *simulator.Context, m *vmState, vm *mo.VirtualMachine) {
	if g.stock() {
		return
	}
	var boot any
	if !m.boot.IsZero() {
		boot = m.boot
	}
	ctx.Update(vm, []types.PropertyChange{vc.P("runtime.bootTime", boot), vc.P("summary.runtime.bootTime", boot)})
}

// goDown clears what the guest reports, keeps it for the next boot, and returns the event's number.
func (g *Guests) goDown(ctx *simulator.Context, m *vmState, vm *mo.VirtualMachine, cause uint64) uint64 {
	if g.stock() {
		return 0
	}
	m.unseen = false
	g.learn(m, vm)
	if !m.info.installed() && !m.up {
		return 0
	}
	ctx.Update(vm, down())
	m.reporting = false
	if !m.up {
		return 0
	}
	m.up = false
	return g.log(m, event.Warning, "guest.down", cause, "guest stopped reporting")
}

func (g *Guests) schedule(m *vmState, ref vc.Ref, delay time.Duration, cause uint64) {
	if m.info.installed() && !g.stock() {
		g.boots.add(boot{ref: ref, step: stepTools, cycle: m.cycle, cause: cause, due: time.Now().Add(delay)})
	}
}

// know records a guest and the owner of its addresses.
func (g *Guests) know(m *vmState, info Info) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, list := range m.info.Addresses {
		for _, p := range list {
			if g.owners[p.Addr()] == m.ref {
				delete(g.owners, p.Addr())
			}
		}
	}
	m.info = info
	for _, list := range info.Addresses {
		for _, p := range list {
			g.owners[p.Addr()] = m.ref
		}
	}
}

// seen brings up a guest that booted while its host was unreachable.
func (g *Guests) seen(m *vmState, vm *mo.VirtualMachine) {
	if m.unseen && visible(vm) && m.power == types.VirtualMachinePowerStatePoweredOn {
		m.unseen = false
		g.schedule(m, vm.Self, 0, 0)
	}
}

// visible reports whether clients can see what a guest does.
func visible(vm *mo.VirtualMachine) bool {
	s := vm.Runtime.ConnectionState
	return s == "" || s == types.VirtualMachineConnectionStateConnected
}

// boot runs a due step of a guest, on the goroutine of boots.
func (g *Guests) boot(b boot) {
	m := g.find(b.ref)
	vm, ok := g.base.Map.Get(b.ref).(*simulator.VirtualMachine)
	if m == nil || !ok {
		return
	}
	ctx := vc.Fresh(g.base)
	ctx.WithLock(vm, func() {
		if g.find(b.ref) != m || m.cycle != b.cycle || m.power != types.VirtualMachinePowerStatePoweredOn {
			return
		}
		if !visible(&vm.VirtualMachine) {
			m.unseen = b.step == stepTools || b.step == stepAddresses
			return
		}
		switch b.step {
		case stepTools:
			if g.opts.AddressDelay > 0 {
				m.up = true
				cause := g.log(m, event.Info, "guest.tools", b.cause, "VMware Tools run")
				if m.reports(ctx, &vm.VirtualMachine).Tools {
					ctx.Update(vm, m.info.tools(&vm.VirtualMachine))
				}
				g.boots.add(boot{ref: b.ref, step: stepAddresses, cycle: m.cycle, cause: cause, due: time.Now().Add(g.opts.AddressDelay)})
				return
			}
			g.goUp(ctx, m, vm, b.cause)
		case stepAddresses:
			g.goUp(ctx, m, vm, b.cause)
		case stepShutdown:
			vm.PowerOffVMTask(ctx, &types.PowerOffVM_Task{This: b.ref})
		case stepStandby:
			vm.SuspendVMTask(ctx, &types.SuspendVM_Task{This: b.ref})
		}
	})
}

// goUp makes the guest report everything.
func (g *Guests) goUp(ctx *simulator.Context, m *vmState, vm *simulator.VirtualMachine, cause uint64) {
	m.up, m.reporting = true, true
	g.log(m, event.Info, "guest.up", cause, "guest "+m.info.HostName+" is up")
	ctx.Update(vm, m.reports(ctx, &vm.VirtualMachine).changes(m.info, &vm.VirtualMachine))
}
