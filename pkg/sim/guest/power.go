package guest

import (
	"container/heap"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
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
		if from != types.VirtualMachinePowerStateSuspended {
			g.install(ctx, m, vm)
		}
		if m.image != nil && m.image.instant {
			delay, m.image.instant = 0, false
		}
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

// step is the next step of a guest.
type step int

const (
	stepTools     step = iota // its tools run
	stepAddresses             // it has its name and addresses
	stepShutdown              // it powers its VM off
	stepStandby               // it suspends its VM
)

// boot is a scheduled step of a guest.
type boot struct {
	ref   vc.Ref
	step  step
	cycle uint64
	cause uint64
	due   time.Time
}

// boots runs scheduled steps on one goroutine.
type boots struct {
	run func(boot)

	mu     sync.Mutex
	queue  bootQueue
	latest map[vc.Ref]uint64 // the cycle of the valid boot of a VM
	wake   chan struct{}     // holds one token after a change of the queue

	stop     chan struct{}
	stopOnce sync.Once
	done     chan struct{}
}

func startBoots(run func(boot)) *boots {
	b := &boots{
		run:    run,
		latest: make(map[vc.Ref]uint64),
		wake:   make(chan struct{}, 1),
		stop:   make(chan struct{}),
		done:   make(chan struct{}),
	}
	go b.loop()
	return b
}

// add never blocks: it is called with a VM's lock held.
func (b *boots) add(next boot) {
	b.mu.Lock()
	defer b.mu.Unlock()
	heap.Push(&b.queue, next)
	b.latest[next.ref] = next.cycle
	notify.Wake(b.wake)
}

// cancel cancels the boot of a VM.
func (b *boots) cancel(ref vc.Ref) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.latest, ref)
}

func (b *boots) close() {
	b.stopOnce.Do(func() { close(b.stop) })
	<-b.done
}

func (b *boots) loop() {
	defer close(b.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-b.stop:
			return
		default:
		}
		next, wait := b.next()
		if next != nil {
			b.run(*next)
			continue
		}
		timer.Reset(wait)
		select {
		case <-b.stop:
			return
		case <-b.wake:
		case <-timer.C:
		}
	}
}

// next removes and returns a due step, or returns the time until the next one.
func (b *boots) next() (*boot, time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.queue) > 0 {
		if wait := time.Until(b.queue[0].due); wait > 0 {
			return nil, wait
		}
		due := heap.Pop(&b.queue).(boot)
		if cycle, ok := b.latest[due.ref]; ok && cycle == due.cycle {
			delete(b.latest, due.ref)
			return &due, 0
		}
	}
	return nil, time.Hour
}

// bootQueue is a heap by due time.
type bootQueue []boot

func (q bootQueue) Len() int           { return len(q) }
func (q bootQueue) Less(i, j int) bool { return q[i].due.Before(q[j].due) }
func (q bootQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *bootQueue) Push(x any)        { *q = append(*q, x.(boot)) }
func (q *bootQueue) Pop() any {
	last := len(*q) - 1
	x := (*q)[last]
	*q = (*q)[:last]
	return x
}

// Slow delays each boot of the VM's guest, from the next one on, until [Guests.Release] with that name.
func (g *Guests) Slow(vm types.ManagedObjectReference, name string, by time.Duration) error {
	return g.with(vm, func(_ *simulator.Context, m *vmState, _ *mo.VirtualMachine) {
		if m.slow == nil {
			m.slow = make(map[string]time.Duration)
		}
		m.slow[name] = by
	})
}

// hurry ends a slow boot; a booting guest starts a usual boot. The caller holds the VM's lock.
func (g *Guests) hurry(m *vmState, name string) {
	if _, ok := m.slow[name]; !ok {
		return
	}
	delete(m.slow, name)
	if m.power == types.VirtualMachinePowerStatePoweredOn && !m.up {
		m.cycle++
		g.schedule(m, m.ref, g.bootDelay(m), 0)
	}
}

// bootDelay returns the duration of the guest's next boot.
func (g *Guests) bootDelay(m *vmState) time.Duration {
	d := g.opts.BootDelay
	for _, by := range m.slow {
		d += by
	}
	return d
}

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
		vc.Post(ctx, about(vc.VMEvent(ctx, vm, "")))
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
