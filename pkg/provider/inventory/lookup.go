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
	// Result is the outcome of a lookup.
	Result = match.Result[*VM]
)

// ByUUID finds VMs by BIOS UUID. It tries the swapped byte order only if no vCenter has the UUID as given.
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

// ByHostName finds VMs by the hostname that the guest reports, in any case. A short name also matches a full name with that
// first label, and a full name matches the short one, but not a full name in another domain. If VMs have exactly the given
// name, only these are returned.
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

// ByIP finds VMs by an address that the guest reports on one of the VM's hardware adapters.
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

// join returns both lists as one. It does not allocate if one is empty.
func join(a, b []*VM) []*VM {
	switch {
	case len(a) == 0:
		return b
	case len(b) == 0:
		return a
	}
	return slices.Concat(a, b)
}
