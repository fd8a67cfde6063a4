package inventory

import (
	"errors"
	"net/netip"
	"slices"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
)

type (
	// UUID is a VM's BIOS UUID.
	UUID = match.UUID
	// Result is the answer to a lookup.
	Result = match.Result[*VM]
)

// ByUUID finds VMs by BIOS UUID: as given, or when no vCenter has one of those, with the byte order swapped.
func (inv *Inventory) ByUUID(u UUID) Result {
	var exact, swapped []*VM
	var doubt error
	other := u.Swapped()
	for _, m := range inv.members {
		if err := m.doubt(); err != nil {
			doubt = errors.Join(doubt, err)
			continue
		}
		exact = join(exact, m.filter(m.index.uuid(u)))
		if len(exact) == 0 {
			swapped = join(swapped, m.filter(m.index.uuid(other)))
		}
	}
	if len(exact) > 0 {
		return Result{VMs: exact, Doubt: doubt}
	}
	return Result{VMs: swapped, Doubt: doubt}
}

// ByHostName finds VMs by the hostname that the guest reports, whatever its case. A short name finds a guest that
// reports a full one and the other way round (a full name in another domain is somebody else's); VMs with exactly the
// given name come before those.
func (inv *Inventory) ByHostName(name string) Result {
	name = match.FoldHostName(name)
	if name == "" {
		return Result{}
	}
	var exact, others []*VM
	var doubt error
	for _, m := range inv.members {
		if err := m.doubt(); err != nil {
			doubt = errors.Join(doubt, err)
			continue
		}
		e, o := m.index.host(name)
		exact = join(exact, m.filter(e))
		if len(exact) == 0 {
			others = join(others, m.filter(o))
		}
	}
	if len(exact) == 0 {
		exact = others
	}
	return Result{VMs: exact, Doubt: doubt}
}

// ByIP finds VMs by an address that the guest reports on one of the VM's own adapters.
func (inv *Inventory) ByIP(ip netip.Addr) Result {
	ip = ip.Unmap().WithZone("")
	var r Result
	for _, m := range inv.members {
		if err := m.doubt(); err != nil {
			r.Doubt = errors.Join(r.Doubt, err)
			continue
		}
		r.VMs = join(r.VMs, m.filter(m.index.ip(ip)))
	}
	return r
}

// join returns both lists as one, and does not allocate when one is empty.
func join(a, b []*VM) []*VM {
	switch {
	case len(a) == 0:
		return b
	case len(b) == 0:
		return a
	}
	return slices.Concat(a, b)
}
