package match

import (
	"net/netip"
	"slices"
)

// List is an [Index] of a list of VMs. Doubt is why there may be more.
type List[V Candidate] struct {
	VMs   []V
	Doubt error
}

// ByUUID implements [Index].
func (l List[V]) ByUUID(u UUID) Result[V] {
	if r := l.where(func(vm VM) bool { return vm.UUID == u }); len(r.VMs) > 0 {
		return r
	}
	return l.where(func(vm VM) bool { return vm.UUID == u.Swapped() })
}

// ByHostName implements [Index].
func (l List[V]) ByHostName(name string) Result[V] {
	exact := l.where(func(vm VM) bool { exactly, _ := SameHostName(vm.HostName, name); return exactly })
	if len(exact.VMs) > 0 {
		return exact
	}
	return l.where(func(vm VM) bool { _, shortly := SameHostName(vm.HostName, name); return shortly })
}

// ByIP implements [Index].
func (l List[V]) ByIP(ip netip.Addr) Result[V] {
	ip = ip.Unmap().WithZone("")
	return l.where(func(vm VM) bool { return slices.Contains(vm.Addresses, ip) })
}

func (l List[V]) where(f func(VM) bool) Result[V] {
	r := Result[V]{Doubt: l.Doubt}
	for _, vm := range l.VMs {
		if f(vm.Facts()) {
			r.VMs = append(r.VMs, vm)
		}
	}
	return r
}
