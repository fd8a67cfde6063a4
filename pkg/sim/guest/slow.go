package guest

import (
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Slow has every boot of the VM's guest take so much longer, from the next one on, until [Guests.Release] of that name.
func (g *Guests) Slow(vm types.ManagedObjectReference, name string, by time.Duration) error {
	return g.with(vm, func(_ *simulator.Context, m *machine, _ *mo.VirtualMachine) {
		if m.slow == nil {
			m.slow = make(map[string]time.Duration)
		}
		m.slow[name] = by
	})
}

// hurry ends a slow boot; a guest that is at it begins a usual one. The VM's lock is held.
func (g *Guests) hurry(m *machine, name string) {
	if _, ok := m.slow[name]; !ok {
		return
	}
	delete(m.slow, name)
	if m.power == types.VirtualMachinePowerStatePoweredOn && !m.up {
		m.cycle++
		g.schedule(m, m.ref, g.bootDelay(m), 0)
	}
}

// bootDelay is how long the guest boots now.
func (g *Guests) bootDelay(m *machine) time.Duration {
	d := g.opts.BootDelay
	for _, by := range m.slow {
		d += by
	}
	return d
}
