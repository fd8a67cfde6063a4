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

// Options configures [Start].
type Options struct {
	// VCenter is the name of the vCenter in events.
	VCenter string
	// BootDelay is the time from power-on to running tools. Zero: at once.
	BootDelay time.Duration
	// AddressDelay is the time from running tools to name and addresses. Zero: at once, in one update.
	AddressDelay time.Duration
	// ShutdownDelay is the time that a guest needs to shut down or suspend. Zero: at once.
	ShutdownDelay time.Duration
	// Stock leaves guest reports to vcsim if it has stock.GuestInfo: guests of the builder are up from the start and stay up,
	// regardless of the power of their VMs.
	Stock stock.Set
	// Subnet returns the addresses of a network of a datacenter, by name; invalid for none. Clones get theirs there. Optional.
	Subnet func(datacenter, network string) netip.Prefix
	// Origins are the UUIDs of the VMs that clones come from ([Guests.Origin]): clones of an earlier run. Optional.
	Origins map[vc.Ref]string
	// Events receives the events of VMs. Nil: none.
	Events *event.Log
}

// Guests runs the guests of one vCenter. Create one with [Start].
//
// It follows the registry of the vCenter: vcsim calls it with the changing VM locked, so that consequences of a power change
// (boot time, cleared guest information) are part of the same change, and no watcher sees a VM that is off and still has an
// address. One goroutine does what happens later, such as boots.
type Guests struct {
	redirect.Receiver

	base *simulator.Context
	opts Options

	mu            sync.Mutex
	vms           map[vc.Ref]*vmState
	names         map[vc.Ref]string
	causes        map[vc.Ref]uint64
	unregistering map[vc.Ref]bool
	owners        map[netip.Addr]vc.Ref // of the addresses of guests, up or not
	origins       map[vc.Ref]string     // the UUIDs that clones come from
	lent          map[loan][]netip.Addr
	named         map[string]uint64 // causes for VMs of a name that do not exist yet
	kept          map[string]*kept  // removed VMs, by the name given to Keep

	// writing is held while the configuration of a VM is written: vcsim reads all configurations, without their locks, when it
	// registers a VM.
	writing sync.Mutex

	boots *boots
}

// vmState is the state of a VM. The VM's lock guards its fields; the map has another lock.
type vmState struct {
	ref       vc.Ref
	name      string
	power     types.VirtualMachinePowerState
	boot      time.Time // the time of power-on; zero when off
	host      vc.Ref
	info      Info
	next      *Info // the pending customization, for the next power-on
	image     *image
	fresh     bool // it has no devices yet
	instant   bool // it is being cloned while it runs
	up        bool // its tools run
	reporting bool // it reports its name and addresses
	// unseen is set if the guest came up while its host was unreachable.
	unseen    bool
	overrides []override
	slow      map[string]time.Duration // additional boot delays by name
	// cycle grows with every change of power, to detect an outdated boot.
	cycle uint64
}

// Start takes over the guests of the VMs in the vCenter of base, which must not serve yet: guests of running VMs are up when it
// returns, without a boot. VMs without an entry in infos have no guest until a client sets one. Every call to the vCenter must
// pass [Guests.Redirect]. Call Close to end it.
func Start(base *simulator.Context, infos map[vc.Ref]Info, opts Options) *Guests {
	g := &Guests{
		base: base,
		opts: opts,

		vms:           make(map[vc.Ref]*vmState),
		names:         make(map[vc.Ref]string),
		causes:        make(map[vc.Ref]uint64),
		unregistering: make(map[vc.Ref]bool),
		owners:        make(map[netip.Addr]vc.Ref),
		origins:       make(map[vc.Ref]string),
		lent:          make(map[loan][]netip.Addr),
		named:         make(map[string]uint64),
		kept:          make(map[string]*kept),
	}
	g.Self = vc.Ref{Type: "SandboxGuests", Value: "sandbox-guests"}
	g.Methods = map[string][]string{"VirtualMachine": {"UnregisterVM"}, "Folder": {"RegisterVM_Task"}}
	if !g.stock() {
		g.Methods["VirtualMachine"] = append(g.Methods["VirtualMachine"], "ShutdownGuest", "StandbyGuest", "CustomizeVM_Task", "InstantClone_Task")
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

// adopt registers a VM of the builder.
func (g *Guests) adopt(ctx *simulator.Context, vm *mo.VirtualMachine, info Info) {
	m := &vmState{ref: vm.Self, name: vm.Name, power: vm.Runtime.PowerState, info: info}
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
	if info.installed() && vm.Config != nil && vm.Config.Template {
		m.image = &image{fullName: info.FullName}
	} else if origin := g.opts.Origins[vm.Self]; origin != "" {
		m.image = &image{fullName: info.FullName, origin: origin}
		g.mu.Lock()
		g.origins[vm.Self] = origin
		g.mu.Unlock()
	}
	switch {
	case !info.installed() || vm.Config != nil && vm.Config.Template:
	case on || g.stock():
		m.up, m.reporting = on, on
		ctx.Update(vm, info.report(ctx, vm).changes(info, vm))
	default:
		ctx.Update(vm, down())
	}
}

// stock reports whether vcsim reports for guests.
func (g *Guests) stock() bool { return g.opts.Stock.Has(stock.GuestInfo) }

// Close stops boots and the following of the vCenter, and waits for the goroutine. Closing again is harmless.
func (g *Guests) Close() {
	g.base.Map.RemoveHandler(g)
	g.boots.close()
}

// PutObject implements simulator.RegisterObject: it records a new VM, which is announced once it has its name.
func (g *Guests) PutObject(_ *simulator.Context, obj mo.Reference) {
	vm, ok := obj.(*simulator.VirtualMachine)
	if !ok {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	// An object is put again when it moves between folders.
	if g.vms[vm.Self] == nil {
		g.vms[vm.Self] = &vmState{ref: vm.Self, power: types.VirtualMachinePowerStatePoweredOff, fresh: true}
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
	delete(g.origins, ref)
	for l := range g.lent {
		if l.vm == ref {
			g.unlend(l)
		}
	}
}

// UpdateObject implements simulator.RegisterObject: ctx holds the VM's lock.
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
			g.bornOf(ctx, m, vm)
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

func (g *Guests) find(ref vc.Ref) *vmState {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.vms[ref]
}

func (g *Guests) renamed(m *vmState, vm *mo.VirtualMachine) {
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

func (g *Guests) moved(ctx *simulator.Context, m *vmState, vm *mo.VirtualMachine) {
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
