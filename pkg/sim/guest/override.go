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

// override changes the report of one guest.
type override struct {
	name   string
	change func(Report) Report
}

// Override makes change rewrite what the guest of the VM reports, now and after every boot, until [Guests.Release] with that
// name. Several apply in the order of their arrival; the same name replaces one. The guest stays as it is, and its reported
// values are not learned while an override is active. change is called with the VM locked.
func (g *Guests) Override(vm types.ManagedObjectReference, name string, change func(Report) Report) error {
	return g.with(vm, func(ctx *simulator.Context, m *vmState, obj *mo.VirtualMachine) {
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

// Release ends everything with that name: an override, a slow boot, lent addresses. A running guest reports its real values
// again. Released names and removed VMs are ignored.
func (g *Guests) Release(vm types.ManagedObjectReference, name string) {
	_ = g.with(vm, func(ctx *simulator.Context, m *vmState, obj *mo.VirtualMachine) { // gone: so is its report
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

func (m *vmState) override(name string) int {
	return slices.IndexFunc(m.overrides, func(o override) bool { return o.name == name })
}

// with runs f with the VM locked.
func (g *Guests) with(ref vc.Ref, f func(*simulator.Context, *vmState, *mo.VirtualMachine)) error {
	m := g.find(ref)
	obj, ok := g.base.Map.Get(ref).(*simulator.VirtualMachine)
	if m == nil || !ok {
		return vc.Fault(&types.ManagedObjectNotFound{Obj: ref})
	}
	ctx := vc.Fresh(g.base)
	ctx.WithLock(obj, func() { f(ctx, m, &obj.VirtualMachine) })
	return nil
}

// learn adopts what clients wrote about the guest. The caller holds the VM's lock.
func (g *Guests) learn(m *vmState, vm *mo.VirtualMachine) {
	if len(m.overrides) == 0 {
		g.know(m, remember(m.info, vm))
	}
}

// reports returns the guest's report with all overrides.
func (m *vmState) reports(ctx *simulator.Context, vm *mo.VirtualMachine) Report {
	r := m.info.report(ctx, vm)
	for _, o := range m.overrides {
		r = o.change(r)
	}
	return r
}

// publish makes a running guest report again. The caller holds the VM's lock.
func (g *Guests) publish(ctx *simulator.Context, m *vmState, vm *mo.VirtualMachine) {
	if !m.reporting {
		return // it will at its time
	}
	if !visible(vm) {
		m.unseen = true // no client sees it now
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

// loan identifies the addresses that were lent under a name.
type loan struct {
	vm   vc.Ref
	name string
}

// ReserveAddresses reserves an address of the same network for each address of the VM's guest, until [Guests.Release] with that name: no
// other guest gets them. The result omits addresses in full networks.
func (g *Guests) ReserveAddresses(vm types.ManagedObjectReference, name string) map[netip.Addr]netip.Addr {
	lent := map[netip.Addr]netip.Addr{}
	_ = g.with(vm, func(_ *simulator.Context, m *vmState, obj *mo.VirtualMachine) { // gone: it has no addresses
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

// unlend returns lent addresses. The caller holds g.mu.
func (g *Guests) unlend(l loan) {
	for _, a := range g.lent[l] {
		if g.owners[a] == l.vm {
			delete(g.owners, a)
		}
	}
	delete(g.lent, l)
}

// Info returns the guest of the VM; false if the VM does not exist.
func (g *Guests) Info(vm types.ManagedObjectReference) (info Info, ok bool) {
	err := g.with(vm, func(_ *simulator.Context, m *vmState, obj *mo.VirtualMachine) {
		g.learn(m, obj)
		info = m.info
		info.Addresses = maps.Clone(m.info.Addresses)
	})
	return info, err == nil
}

// MACs returns the lower-case MAC addresses of the VM's NICs, in the order of its hardware; empty for a removed VM.
func (g *Guests) MACs(vm types.ManagedObjectReference) (macs []string) {
	_ = g.with(vm, func(_ *simulator.Context, _ *vmState, obj *mo.VirtualMachine) {
		for _, d := range obj.Config.Hardware.Device {
			if card, ok := d.(types.BaseVirtualEthernetCard); ok {
				macs = append(macs, strings.ToLower(card.GetVirtualEthernetCard().MacAddress))
			}
		}
	}) // its only error is that the VM is gone
	return macs
}

// SetGuest replaces the guest of the VM, as an installation on an empty disk does. A running one reports it.
func (g *Guests) SetGuest(vm types.ManagedObjectReference, info Info) error {
	return g.with(vm, func(ctx *simulator.Context, m *vmState, obj *mo.VirtualMachine) {
		g.know(m, info)
		switch {
		case m.reporting:
			g.publish(ctx, m, obj)
		case m.power == types.VirtualMachinePowerStatePoweredOn && !m.up:
			m.cycle++
			g.schedule(m, m.ref, g.bootDelay(m), 0)
		case info.installed():
			ctx.Update(obj, down())
		}
	})
}
