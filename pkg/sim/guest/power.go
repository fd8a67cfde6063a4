package guest

import (
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// powered follows a change of power. All property changes are made with the VM's lock held, within vcsim's own change.
func (g *Guests) powered(ctx *simulator.Context, m *machine, vm *mo.VirtualMachine) {
	from := m.power
	if m.power = vm.Runtime.PowerState; m.power == from {
		return
	}
	m.cycle++
	switch m.power {
	case types.VirtualMachinePowerStatePoweredOn:
		delay, message := g.bootDelay(m), "powered on"
		if from == types.VirtualMachinePowerStateSuspended {
			// It continues where it stopped; vSphere's documentation has bootTime unchanged by a resume.
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

// reset follows a boot time that somebody else set: the VM was reset, its power state did not change.
func (g *Guests) reset(ctx *simulator.Context, m *machine, vm *mo.VirtualMachine) {
	t := vm.Runtime.BootTime
	if t == nil || t.Equal(m.boot) || m.power != types.VirtualMachinePowerStatePoweredOn {
		return
	}
	m.boot = *t
	g.restart(ctx, m, vm, g.log(m, event.Warning, "vm.reset", 0, "reset"))
}

// restart takes the guest down and boots it again, the VM staying on.
func (g *Guests) restart(ctx *simulator.Context, m *machine, vm *mo.VirtualMachine, cause uint64) {
	m.cycle++
	if down := g.goDown(ctx, m, vm, cause); cause == 0 {
		cause = down
	}
	g.schedule(m, vm.Self, g.bootDelay(m), cause)
}

// setBoot writes the boot time where vSphere has it; vcsim writes it in one of the two places, and at every change.
func (g *Guests) setBoot(ctx *simulator.Context, m *machine, vm *mo.VirtualMachine) {
	if g.stock() {
		return
	}
	var boot any
	if !m.boot.IsZero() {
		boot = m.boot
	}
	ctx.Update(vm, []types.PropertyChange{vc.P("runtime.bootTime", boot), vc.P("summary.runtime.bootTime", boot)})
}

// goDown clears what the guest reports, remembering it for the next boot, and returns the event's place in the log.
func (g *Guests) goDown(ctx *simulator.Context, m *machine, vm *mo.VirtualMachine, cause uint64) uint64 {
	if g.stock() {
		return 0
	}
	m.unseen = false
	g.learn(m, vm)
	if !m.info.installed() && !m.up {
		return 0
	}
	ctx.Update(vm, down())
	m.told = false
	if !m.up {
		return 0
	}
	m.up = false
	return g.log(m, event.Warning, "guest.down", cause, "guest stopped reporting")
}

func (g *Guests) schedule(m *machine, ref vc.Ref, delay time.Duration, cause uint64) {
	if m.info.installed() && !g.stock() {
		g.boots.add(boot{ref: ref, step: stepTools, cycle: m.cycle, cause: cause, due: time.Now().Add(delay)})
	}
}

// know notes what a guest is, and whose its addresses are.
func (g *Guests) know(m *machine, info Info) {
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

// seen brings up a guest whose time came while its host could not be seen.
func (g *Guests) seen(m *machine, vm *mo.VirtualMachine) {
	if m.unseen && visible(vm) && m.power == types.VirtualMachinePowerStatePoweredOn {
		m.unseen = false
		g.schedule(m, vm.Self, 0, 0)
	}
}

// visible reports whether anybody could see what a guest does.
func visible(vm *mo.VirtualMachine) bool {
	s := vm.Runtime.ConnectionState
	return s == "" || s == types.VirtualMachineConnectionStateConnected
}

// boot lets a guest do what it is time for; it runs on the goroutine of boots.
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

// goUp lets the guest report all there is.
func (g *Guests) goUp(ctx *simulator.Context, m *machine, vm *simulator.VirtualMachine, cause uint64) {
	m.up, m.told = true, true
	g.log(m, event.Info, "guest.up", cause, "guest "+m.info.HostName+" is up")
	ctx.Update(vm, m.reports(ctx, &vm.VirtualMachine).changes(m.info, &vm.VirtualMachine))
}
