package inventory

import (
	"net/netip"
	"slices"

	"github.com/vmware/govmomi/vim25/types"
)

// addresses are the guest's IP addresses in the order of its network cards, its own choice first.
func addresses(g *types.GuestInfo) []string {
	var all []string
	add := func(text string) {
		ip, err := netip.ParseAddr(text)
		if err != nil || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsUnspecified() || slices.Contains(all, ip.String()) {
			return
		}
		all = append(all, ip.String())
	}
	add(g.IpAddress)
	for _, nic := range g.Net {
		if nic.IpConfig != nil {
			for _, ip := range nic.IpConfig.IpAddress {
				add(ip.IpAddress)
			}
			continue
		}
		for _, ip := range nic.IpAddress {
			add(ip)
		}
	}
	return all
}
