package inventory

import "sync/atomic"

// Lookups is how often VMs were found, by what they were found by.
type Lookups struct {
	// UUID counts BIOS UUIDs as they were asked for, Swapped those found with the byte order swapped.
	UUID, Swapped uint64
	HostName, IP  uint64
	// Missed counts lookups that found nothing.
	Missed uint64
}

// Lookups returns the counts since the inventory was made.
func (inv *Inventory) Lookups() Lookups {
	c := &inv.lookups
	return Lookups{
		UUID: c.exact.Load(), Swapped: c.swapped.Load(), HostName: c.hostName.Load(), IP: c.ip.Load(), Missed: c.missed.Load(),
	}
}

type counters struct{ exact, swapped, hostName, ip, missed atomic.Uint64 }

func count(found, missed *atomic.Uint64, vms []*VM) {
	if len(vms) > 0 {
		found.Add(1)
		return
	}
	missed.Add(1)
}
