package guest

import (
	"fmt"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// Options of [Start].
type Options struct {
	// VCenter is the name that events carry.
	VCenter string
	// BootDelay is the time from power-on to a guest that reports. Zero means at once.
	BootDelay time.Duration
	// Events receives what happens; nil means nobody wants to know.
	Events *event.Log
}

// Guests runs the guests of one vCenter. Make one with [Start].
//
// It follows the registry of the vCenter: vcsim calls it with the changing VM locked, so what belongs to a change of
// power (boot time, cleared guest information) is written in the same breath, and no watcher ever sees a VM that is off
// and still has an address. What comes later, the boot, is done by one goroutine.
type Guests struct {
	ref  vc.Ref
	base *simulator.Context
	opts Options

	mu     sync.Mutex
	vms    map[vc.Ref]*machine
	causes map[string]uint64 // by VM name

	boots *boots
}

// machine is what is known of a VM. Its fields are guarded by the VM's lock; the map it is in has its own.
type machine struct {
	name  string
	power types.VirtualMachinePowerState
	boot  time.Time // when it was powered on; zero when it is off
	host  vc.Ref
	info  Info
	up    bool
	// cycle grows with every change of power, so that a boot that was due is known to be stale.
	cycle uint64
}

// Start takes over the guests of the VMs in the vCenter of base, which must not serve yet: those that are powered on
// are up when it returns, without a boot. VMs that infos does not name have no guest until a client gives them one.
// Close ends it.
func Start(base *simulator.Context, infos map[vc.Ref]Info, opts Options) *Guests {
	g := &Guests{
		ref:  vc.Ref{Type: "SandboxGuests", Value: "sandbox-guests"},
		base: base,
		opts: opts,
		vms:  make(map[vc.Ref]*machine),

		causes: make(map[string]uint64),
	}
	g.boots = startBoots(g.boot)
	base.Map.AddHandler(g)
	for _, e := range base.Map.All("VirtualMachine") {
		vm := e.(*simulator.VirtualMachine)
		ctx := vc.Fresh(base)
		ctx.WithLock(vm, func() { g.adopt(ctx, &vm.VirtualMachine, infos[vm.Self]) })
	}
	return g
}

// adopt takes on a VM that the builder made.
func (g *Guests) adopt(ctx *simulator.Context, vm *mo.VirtualMachine, info Info) {
	m := &machine{name: vm.Name, power: vm.Runtime.PowerState, info: info}
	if vm.Runtime.Host != nil {
		m.host = *vm.Runtime.Host
	}
	if vm.Runtime.BootTime != nil {
		m.boot = *vm.Runtime.BootTime
	}
	g.mu.Lock()
	g.vms[vm.Self] = m
	g.mu.Unlock()
	if m.power == types.VirtualMachinePowerStatePoweredOn && info.installed() {
		m.up = true
		ctx.Update(vm, info.up(ctx, vm))
	}
}

// Close stops booting guests and following the vCenter, and waits for the goroutine. Closing again is harmless.
func (g *Guests) Close() {
	g.base.Map.RemoveHandler(g)
	g.boots.close()
}

// Reference implements simulator.RegisterObject.
func (g *Guests) Reference() vc.Ref { return g.ref }

// PutObject implements simulator.RegisterObject: a new VM is noted here and announced once it has its name.
func (g *Guests) PutObject(_ *simulator.Context, obj mo.Reference) {
	vm, ok := obj.(*simulator.VirtualMachine)
	if !ok {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	// An object is put again when it moves between folders.
	if g.vms[vm.Self] == nil {
		g.vms[vm.Self] = &machine{power: types.VirtualMachinePowerStatePoweredOff}
	}
}

// RemoveObject implements simulator.RegisterObject.
func (g *Guests) RemoveObject(_ *simulator.Context, ref vc.Ref) {
	if ref.Type != "VirtualMachine" {
		return
	}
	g.mu.Lock()
	m := g.vms[ref]
	delete(g.vms, ref)
	g.mu.Unlock()
	if m != nil {
		g.boots.cancel(ref)
		g.log(m, event.Info, "vm.destroyed", 0, "destroyed")
	}
}

// UpdateObject implements simulator.RegisterObject: the VM's lock is held on behalf of ctx.
func (g *Guests) UpdateObject(ctx *simulator.Context, obj mo.Reference, changes []types.PropertyChange) {
	vm, ok := obj.(*mo.VirtualMachine)
	if !ok {
		return
	}
	m := g.find(vm.Self)
	if m == nil {
		return
	}
	for _, c := range changes {
		switch c.Name {
		case "name":
			g.renamed(m, vm)
		case "runtime.host":
			g.moved(ctx, m, vm)
		case "runtime.powerState":
			g.powered(ctx, m, vm)
		case "runtime.bootTime":
			g.reset(ctx, m, vm)
		case "guest.guestState":
			if vm.Guest.GuestState == string(types.VirtualMachineGuestStateResetting) {
				g.restart(ctx, m, vm, 0)
			}
		}
	}
}

func (g *Guests) find(ref vc.Ref) *machine {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.vms[ref]
}

func (g *Guests) renamed(m *machine, vm *mo.VirtualMachine) {
	was := m.name
	m.name = vm.Name
	if was != "" {
		return
	}
	if vm.Runtime.Host != nil {
		m.host = *vm.Runtime.Host
	}
	g.log(m, event.Info, "vm.created", 0, "created")
}

func (g *Guests) moved(ctx *simulator.Context, m *machine, vm *mo.VirtualMachine) {
	from := m.host
	if vm.Runtime.Host == nil || *vm.Runtime.Host == from {
		return
	}
	m.host = *vm.Runtime.Host
	if from == (vc.Ref{}) {
		return
	}
	g.log(m, event.Info, "vm.moved", 0, fmt.Sprintf("moved from host %s to %s", hostName(ctx, from), hostName(ctx, m.host)))
}

func hostName(ctx *simulator.Context, ref vc.Ref) string {
	if h, ok := ctx.Map.Get(ref).(*simulator.HostSystem); ok {
		return h.Name
	}
	return ref.Value
}

// Causing names the event that is the cause of what happens to the VM of that name until release is called. Of two at
// once the later one counts.
func (g *Guests) Causing(vm string, seq uint64) (release func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.causes[vm] = seq
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.causes[vm] == seq {
			delete(g.causes, vm)
		}
	}
}

// log writes one event about the VM and returns its place in the log.
func (g *Guests) log(m *machine, level event.Level, kind string, cause uint64, message string) uint64 {
	if g.opts.Events == nil {
		return 0
	}
	if cause == 0 {
		g.mu.Lock()
		cause = g.causes[m.name]
		g.mu.Unlock()
	}
	return g.opts.Events.Append(event.Event{
		Plane:   event.PlaneVSphere,
		Level:   level,
		Kind:    kind,
		Object:  event.Object{Kind: "VM", VCenter: g.opts.VCenter, Name: m.name},
		Message: message,
		Cause:   cause,
	})
}
