package guest

import (
	"net/netip"

	"github.com/vmware/govmomi/vim25/types"
)

// Adapter is one network adapter that a guest reports, with its addresses in the guest's order.
type Adapter struct {
	// Network is the name of the network it is on, empty when the guest's adapter is none of the VM's.
	Network string
	// Virtual says that the adapter is none of the VM's hardware (DeviceConfigId -1): what a CNI makes inside the guest.
	Virtual bool
	// Addresses are those that parse, IPv4-mapped ones unmapped and without zones; local ones are among them.
	Addresses []netip.Addr
}

// Adapters reads what a guest reports.
func Adapters(nics []types.GuestNicInfo) []Adapter {
	if len(nics) == 0 {
		return nil
	}
	adapters := make([]Adapter, 0, len(nics))
	for _, nic := range nics {
		a := Adapter{Network: nic.Network, Virtual: nic.DeviceConfigId == -1}
		for _, text := range nic.IpAddress {
			if ip, err := netip.ParseAddr(text); err == nil {
				a.Addresses = append(a.Addresses, ip.Unmap().WithZone(""))
			}
		}
		adapters = append(adapters, a)
	}
	return adapters
}

// Usable tells whether an address means anything outside the guest: it is no loopback, link-local, multicast or
// unspecified one.
func Usable(ip netip.Addr) bool {
	return ip.IsValid() && !ip.IsUnspecified() && !ip.IsLoopback() && !ip.IsLinkLocalUnicast() && !ip.IsMulticast()
}
