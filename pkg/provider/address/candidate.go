package address

import (
	"net/netip"
	"slices"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/guest"
)

type candidate struct {
	ip      netip.Addr
	network string
}

// appendCandidates appends the addresses of a family to list: first the static ones in order, then all, in the order of adapters
// and of addresses on each. Duplicates do no harm.
func (g *Guest) appendCandidates(list []candidate, family config.IPFamily) []candidate {
	for _, ip := range g.Static {
		if !isFamily(ip, family) || !guest.Usable(ip) {
			continue
		}
		for _, a := range g.Adapters {
			if !a.Virtual && slices.Contains(a.Addresses, ip) {
				list = append(list, candidate{ip, a.Network})
			}
		}
	}
	for _, a := range g.Adapters {
		if a.Virtual {
			continue
		}
		for _, ip := range a.Addresses {
			if isFamily(ip, family) && guest.Usable(ip) {
				list = append(list, candidate{ip, a.Network})
			}
		}
	}
	return list
}

func isFamily(ip netip.Addr, family config.IPFamily) bool {
	switch family {
	case config.IPv4:
		return ip.Is4()
	case config.IPv6:
		return ip.Is6() && !ip.Is4In6()
	}
	return false
}

func familyOf(ip netip.Addr) config.IPFamily {
	if ip.Is4() {
		return config.IPv4
	}
	return config.IPv6
}
