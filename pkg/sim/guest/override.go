package guest

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// override changes what one guest reports.
type override struct {
	name   string
	change func(Report) Report
}

// Override has change rewrite what the guest of the VM reports, now and after every boot, until [Guests.Release] of that
// name. Several apply one after the other, in the order in which they came; the same name again replaces. The guest itself
// stays as it is: meanwhile nothing is learned from what it reports. change is called with the VM locked.
func (g *Guests) Override(vm types.ManagedObjectReference, name string, change func(Report) Report) error {
	return g.with(vm, func(ctx *simulator.Context, m *machine, obj *mo.VirtualMachine) {
		g.learn(m, obj)
		o := override{name, change}
		if i := m.override(name); i >= 0 {
			m.overrides[i] = o
		} else {
			m.overrides = append(m.overrides, o)
		}
		g.publish(ctx, m, obj)
	})
}

// Release ends everything that goes by the name: an override, a slow boot, lent addresses. The guest reports what it is
// again, if it is up. What is over, or a VM that is gone, is left alone.
func (g *Guests) Release(vm types.ManagedObjectReference, name string) {
	_ = g.with(vm, func(ctx *simulator.Context, m *machine, obj *mo.VirtualMachine) { // gone: so is what it reported
		if i := m.override(name); i >= 0 {
			m.overrides = slices.Delete(m.overrides, i, i+1)
			g.publish(ctx, m, obj)
		}
		g.hurry(m, name)
	})
	g.mu.Lock()
	defer g.mu.Unlock()
	g.unlend(loan{vm, name})
}

func (m *machine) override(name string) int {
	return slices.IndexFunc(m.overrides, func(o override) bool { return o.name == name })
}

// with runs f with the VM locked.
func (g *Guests) with(ref vc.Ref, f func(*simulator.Context, *machine, *mo.VirtualMachine)) error {
	m := g.find(ref)
	obj, ok := g.base.Map.Get(ref).(*simulator.VirtualMachine)
	if m == nil || !ok {
		return vc.Fault(&types.ManagedObjectNotFound{Obj: ref})
	}
	ctx := vc.Fresh(g.base)
	ctx.WithLock(obj, func() { f(ctx, m, &obj.VirtualMachine) })
	return nil
}

// learn takes over what clients wrote about the guest. The VM's lock is held.
func (g *Guests) learn(m *machine, vm *mo.VirtualMachine) {
	if len(m.overrides) == 0 {
		g.know(m, remember(m.info, vm))
	}
}

// reports is what the guest reports, with all that interferes.
func (m *machine) reports(ctx *simulator.Context, vm *mo.VirtualMachine) Report {
	r := m.info.report(ctx, vm)
	for _, o := range m.overrides {
		r = o.change(r)
	}
	return r
}

// publish has a guest that is up report again. The VM's lock is held.
func (g *Guests) publish(ctx *simulator.Context, m *machine, vm *mo.VirtualMachine) {
	if !m.told {
		return // it will at its time
	}
	if !visible(vm) {
		m.unseen = true // nobody hears it now
		return
	}
	host, address, tools := vm.Guest.HostName, vm.Guest.IpAddress, vm.Guest.ToolsRunningStatus
	ctx.Update(vm, m.reports(ctx, vm).changes(m.info, vm))
	now := vm.Guest
	if now.ToolsRunningStatus != tools {
		g.log(m, event.Warning, "guest.changed", 0, "VMware Tools: was "+tools+", is "+now.ToolsRunningStatus)
	} else {
		g.log(m, event.Warning, "guest.changed", 0, fmt.Sprintf("guest reports name %q at %q; was %q at %q", now.HostName, now.IpAddress, host, address))
	}
}

// loan names the addresses that were lent for a purpose.
type loan struct {
	vm   vc.Ref
	name string
}

// Lend keeps an address of the same network for the VM in place of each that its guest has, until [Guests.Release] of that
// name: nobody else gets them. An address whose network is full is not in the answer.
func (g *Guests) Lend(vm types.ManagedObjectReference, name string) map[netip.Addr]netip.Addr {
	lent := map[netip.Addr]netip.Addr{}
	_ = g.with(vm, func(_ *simulator.Context, m *machine, obj *mo.VirtualMachine) { // gone: it has none
		g.learn(m, obj)
		g.mu.Lock()
		g.unlend(loan{vm, name})
		g.mu.Unlock()
		others, _ := g.others(m)
		g.mu.Lock()
		defer g.mu.Unlock()
		for mac, list := range m.info.Addresses {
			for i, p := range list {
				if next := others[mac][i]; next != p {
					lent[p.Addr()] = next.Addr()
					g.owners[next.Addr()] = vm
					g.lent[loan{vm, name}] = append(g.lent[loan{vm, name}], next.Addr())
				}
			}
		}
	})
	return lent
}

// unlend takes lent addresses back. g.mu is held.
func (g *Guests) unlend(l loan) {
	for _, a := range g.lent[l] {
		if g.owners[a] == l.vm {
			delete(g.owners, a)
		}
	}
	delete(g.lent, l)
}

// Info is what the guest of the VM is; false when there is no such VM.
func (g *Guests) Info(vm types.ManagedObjectReference) (info Info, ok bool) {
	err := g.with(vm, func(_ *simulator.Context, m *machine, obj *mo.VirtualMachine) {
		g.learn(m, obj)
		info = m.info
		info.Addresses = maps.Clone(m.info.Addresses)
	})
	return info, err == nil
}

// Cards are the MAC addresses, in lower case, of the VM's network cards, in the order of its hardware; none of a VM that is gone.
func (g *Guests) Cards(vm types.ManagedObjectReference) (macs []string) {
	_ = g.with(vm, func(_ *simulator.Context, _ *machine, obj *mo.VirtualMachine) {
		for _, d := range obj.Config.Hardware.Device {
			if card, ok := d.(types.BaseVirtualEthernetCard); ok {
				macs = append(macs, strings.ToLower(card.GetVirtualEthernetCard().MacAddress))
			}
		}
	}) // its only error is that the VM is gone
	return macs
}

// Become makes the guest of the VM another one: what an installation does to an empty disk. One that is up reports it.
func (g *Guests) Become(vm types.ManagedObjectReference, info Info) error {
	return g.with(vm, func(ctx *simulator.Context, m *machine, obj *mo.VirtualMachine) {
		g.know(m, info)
		switch {
		case m.told:
			g.publish(ctx, m, obj)
		case m.power == types.VirtualMachinePowerStatePoweredOn && !m.up:
			m.cycle++
			g.schedule(m, m.ref, g.bootDelay(m), 0)
		case info.installed():
			ctx.Update(obj, down())
		}
	})
}
