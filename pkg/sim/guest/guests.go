package guest

import (
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/redirect"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/stock"
)

// Options of [Start].
type Options struct {
	// VCenter is the name that events carry.
	VCenter string
	// BootDelay is the time from power-on to tools that run. Zero means at once.
	BootDelay time.Duration
	// AddressDelay is the time from there to a guest that reports its name and addresses. Zero means at once: one update.
	AddressDelay time.Duration
	// ShutdownDelay is the time that a guest takes to shut down or suspend when asked. Zero means at once.
	ShutdownDelay time.Duration
	// Stock leaves what guests report to vcsim where it has stock.GuestInfo: guests of the builder are up from the start and
	// stay so, whatever happens to their VMs.
	Stock stock.Set
	// Events receives what happens; nil means nobody wants to know.
	Events *event.Log
}

// Guests runs the guests of one vCenter. Make one with [Start].
//
// It follows the registry of the vCenter: vcsim calls it with the changing VM locked, so what belongs to a change of
// power (boot time, cleared guest information) is written in the same breath, and no watcher ever sees a VM that is off
// and still has an address. What comes later, the boot, is done by one goroutine.
type Guests struct {
	redirect.Receiver

	base *simulator.Context
	opts Options

	mu            sync.Mutex
	vms           map[vc.Ref]*machine
	names         map[vc.Ref]string
	causes        map[vc.Ref]uint64
	unregistering map[vc.Ref]bool
	owners        map[netip.Addr]vc.Ref // of the addresses of guests, up or not
	lent          map[loan][]netip.Addr
	named         map[string]uint64 // causes of what happens to VMs of a name that do not exist yet
	kept          map[string]*kept  // VMs that are gone, by what they are kept for

	// writing is held while the configuration of a VM is written: vcsim looks through all configurations, without their
	// locks, when it registers a VM.
	writing sync.Mutex

	boots *boots
}

// machine is what is known of a VM. Its fields are guarded by the VM's lock; the map it is in has its own.
type machine struct {
	ref   vc.Ref
	name  string
	power types.VirtualMachinePowerState
	boot  time.Time // when it was powered on; zero when it is off
	host  vc.Ref
	info  Info
	next  *Info // what a customization makes of it at the next power-on
	up    bool  // its tools run
	told  bool  // it reports its name and addresses
	// unseen is a guest that came up while its host could not be seen.
	unseen    bool
	overrides []override
	slow      map[string]time.Duration // by what the guest boots more slowly
	// cycle grows with every change of power, so that a boot that was due is known to be stale.
	cycle uint64
}

// Start takes over the guests of the VMs in the vCenter of base, which must not serve yet: those that are powered on
// are up when it returns, without a boot. VMs that infos does not name have no guest until a client gives them one.
// [Guests.Redirect] must be asked for every call that reaches the vCenter. Close ends it.
func Start(base *simulator.Context, infos map[vc.Ref]Info, opts Options) *Guests {
	g := &Guests{
		base: base,
		opts: opts,

		vms:           make(map[vc.Ref]*machine),
		names:         make(map[vc.Ref]string),
		causes:        make(map[vc.Ref]uint64),
		unregistering: make(map[vc.Ref]bool),
		owners:        make(map[netip.Addr]vc.Ref),
		lent:          make(map[loan][]netip.Addr),
		named:         make(map[string]uint64),
		kept:          make(map[string]*kept),
	}
	g.Self = vc.Ref{Type: "SandboxGuests", Value: "sandbox-guests"}
	g.Methods = map[string][]string{"VirtualMachine": {"UnregisterVM"}, "Folder": {"RegisterVM_Task"}}
	if !g.stock() {
		g.Methods["VirtualMachine"] = append(g.Methods["VirtualMachine"], "ShutdownGuest", "StandbyGuest", "CustomizeVM_Task")
	}
	g.boots = startBoots(g.boot)
	base.Map.Put(g)
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
	m := &machine{ref: vm.Self, name: vm.Name, power: vm.Runtime.PowerState, info: info}
	if vm.Runtime.Host != nil {
		m.host = *vm.Runtime.Host
	}
	if vm.Runtime.BootTime != nil {
		m.boot = *vm.Runtime.BootTime
	}
	g.mu.Lock()
	g.vms[vm.Self], g.names[vm.Self] = m, vm.Name
	g.mu.Unlock()
	g.know(m, info)
	on := m.power == types.VirtualMachinePowerStatePoweredOn
	switch {
	case !info.installed() || vm.Config != nil && vm.Config.Template:
	case on || g.stock():
		m.up, m.told = on, on
		ctx.Update(vm, info.report(ctx, vm).changes(info, vm))
	default:
		ctx.Update(vm, down())
	}
}

// stock reports whether guests are left to vcsim.
func (g *Guests) stock() bool { return g.opts.Stock.Has(stock.GuestInfo) }

// Close stops booting guests and following the vCenter, and waits for the goroutine. Closing again is harmless.
func (g *Guests) Close() {
	g.base.Map.RemoveHandler(g)
	g.boots.close()
}

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
		g.vms[vm.Self] = &machine{ref: vm.Self, power: types.VirtualMachinePowerStatePoweredOff}
	}
}

// RemoveObject implements simulator.RegisterObject.
func (g *Guests) RemoveObject(_ *simulator.Context, ref vc.Ref) {
	if ref.Type != "VirtualMachine" {
		return
	}
	g.mu.Lock()
	m, kept := g.vms[ref], g.unregistering[ref]
	g.mu.Unlock()
	if m == nil {
		return
	}
	g.boots.cancel(ref)
	if kept {
		g.log(m, event.Info, "vm.unregistered", 0, "removed from the inventory; its files stay")
	} else {
		g.log(m, event.Info, "vm.destroyed", 0, "destroyed")
	}
	g.know(m, Info{}) // its addresses are free
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.vms, ref)
	delete(g.names, ref)
	delete(g.causes, ref)
	for l := range g.lent {
		if l.vm == ref {
			g.unlend(l)
		}
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
		case "config.hardware.device":
			g.rewired(ctx, m, vm)
		case "runtime.connectionState":
			g.seen(m, vm)
		case "guest.guestState":
			if !g.stock() && vm.Guest.GuestState == string(types.VirtualMachineGuestStateResetting) {
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
	g.mu.Lock()
	g.names[vm.Self] = vm.Name
	g.mu.Unlock()
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
