package guest

import (
	"net/netip"
	"slices"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/guest"
)

// readdressed is the report with other addresses: f is asked for those of each NIC in place of what it has.
func readdressed(r guest.Report, f func(nic int, mac string, now []netip.Prefix) []netip.Prefix) guest.Report {
	r.NICs = slices.Clone(r.NICs)
	for i, nic := range r.NICs {
		next := f(i, nic.MacAddress, prefixes(nic))
		nic.IpAddress, nic.IpConfig = nil, nil
		if len(next) > 0 {
			nic.IpConfig = new(types.NetIpConfigInfo)
		}
		for _, p := range next {
			nic.IpAddress = append(nic.IpAddress, p.Addr().String())
			nic.IpConfig.IpAddress = append(nic.IpConfig.IpAddress, types.NetIpConfigInfoIpAddress{
				IpAddress: p.Addr().String(), PrefixLength: int32(p.Bits()), State: string(types.NetIpConfigInfoIpAddressStatusPreferred),
			})
		}
		r.NICs[i] = nic
	}
	r.Address = r.Primary()
	return r
}

// prefixes are the addresses of a NIC.
func prefixes(nic types.GuestNicInfo) []netip.Prefix {
	var all []netip.Prefix
	if nic.IpConfig == nil {
		return nil
	}
	for _, a := range nic.IpConfig.IpAddress {
		if ip, err := netip.ParseAddr(a.IpAddress); err == nil {
			all = append(all, netip.PrefixFrom(ip, int(a.PrefixLength)))
		}
	}
	return all
}

// has tells whether a guest has an address that fits.
func has(info guest.Info, fits func(netip.Addr) bool) bool {
	for _, list := range info.Addresses {
		if slices.ContainsFunc(list, func(p netip.Prefix) bool { return fits(p.Addr()) }) {
			return true
		}
	}
	return false
}

func every(netip.Addr) bool { return true }
