package inventory

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/guest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/guestinfo"
)

// settings is the VM's advanced configuration.
func settings(dc *topology.Datacenter, vm *topology.VM) ([]types.BaseOptionValue, error) {
	// govcsim tells programs that look for it that this is a simulator, in vcsim as here.
	all := []types.BaseOptionValue{&types.OptionValue{Key: "govcsim", Value: "TRUE"}}
	own, err := guestinfo.ExtraConfig(dc, vm)
	for _, kv := range own {
		all = append(all, &types.OptionValue{Key: kv.Key, Value: kv.Value})
	}
	return all, err
}

// guestInfo is what the guest of the VM reports when it is up.
func guestInfo(spec *topology.VM) (guest.Info, error) {
	info := guest.Info{
		HostName:  spec.Hostname,
		FullName:  fullName(spec.GuestID),
		Addresses: make(map[string][]netip.Prefix),
	}
	for _, n := range spec.NICs {
		for _, text := range n.Addresses {
			p, err := prefix(text)
			if err != nil {
				return info, fmt.Errorf("address %q: %w", text, err)
			}
			mac := strings.ToLower(n.MAC)
			info.Addresses[mac] = append(info.Addresses[mac], p)
		}
	}
	return info, nil
}

// prefix reads an address with or without prefix length.
func prefix(text string) (netip.Prefix, error) {
	if strings.Contains(text, "/") {
		return netip.ParsePrefix(text)
	}
	a, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, err
	}
	bits := 64
	if a.Is4() {
		bits = 24
	}
	return netip.PrefixFrom(a, bits), nil
}
