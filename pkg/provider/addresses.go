package provider

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/guest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
)

// candidate is an address that a node may be given.
type candidate struct {
	ip      netip.Addr
	network string
}

// addresses selects a node's addresses from what the guest reports: its hostname, then for each family, in order of
// preference, at most one internal and one external address. An excluded network comes before everything; then counts
// the first configured network that has an address, then the first address on the named VM network, and when none of
// these finds anything at all, the first address there is. Selection and order follow upstream's
// (pkg/cloudprovider/vsphere/nodemanager.go, discoverIPs), but for the static addresses in a VM's guestinfo.metadata,
// which upstream puts first and this does not read.
func addresses(vm *inventory.VM, cfg config.Nodes, families []config.IPFamily) ([]v1.NodeAddress, error) {
	if vm.HostName == "" {
		return nil, fmt.Errorf("vm %s: its guest reports no hostname (power state %s)", vm, vm.Power)
	}
	if len(vm.Adapters) == 0 {
		return nil, fmt.Errorf("vm %s: its guest reports no network adapters (power state %s)", vm, vm.Power)
	}
	if err := networksExist(vm, cfg); err != nil {
		return nil, err
	}
	all := candidates(vm)
	if len(all) == 0 {
		return nil, fmt.Errorf("vm %s: its guest reports no address but local ones", vm)
	}
	list := []v1.NodeAddress{{Type: v1.NodeHostName, Address: vm.HostName}}
	for _, family := range families {
		of := slices.DeleteFunc(slices.Clone(all), func(c candidate) bool { return c.ip.Is4() != (family == config.IPv4) })
		internal, external := choose(of, cfg)
		if internal == nil && external == nil {
			return nil, fmt.Errorf("vm %s: no %s address among those its guest reports can be the node's", vm, family)
		}
		list = appendAddress(list, v1.NodeInternalIP, internal)
		list = appendAddress(list, v1.NodeExternalIP, external)
	}
	return list, nil
}

// choose returns the internal and the external address among those of one family; nil for none.
func choose(of []candidate, cfg config.Nodes) (internal, external *candidate) {
	internals, externals := without(of, cfg.ExcludeInternalSubnets), without(of, cfg.ExcludeExternalSubnets)
	internal = inSubnets(internals, cfg.InternalSubnets)
	external = inSubnets(externals, cfg.ExternalSubnets)
	if internal == nil {
		internal = onNetwork(internals, cfg.InternalVMNetwork)
	}
	if external == nil {
		external = onNetwork(externals, cfg.ExternalVMNetwork)
	}
	if internal == nil && external == nil {
		internal, external = firstOf(internals), firstOf(externals)
	}
	return internal, external
}

// candidates lists the guest's addresses in the order of adapters and of addresses on each. Adapters that are not the
// VM's hardware (DeviceConfigId -1: what a CNI makes) and addresses that mean nothing elsewhere are left out.
func candidates(vm *inventory.VM) []candidate {
	var list []candidate
	for _, nic := range vm.Adapters {
		if nic.Virtual {
			continue
		}
		for _, ip := range nic.Addresses {
			if guest.Usable(ip) {
				list = append(list, candidate{ip, nic.Network})
			}
		}
	}
	return list
}

// networksExist refuses a VM that is on neither of two VM networks which are both configured.
func networksExist(vm *inventory.VM, cfg config.Nodes) error {
	if cfg.InternalVMNetwork == "" || cfg.ExternalVMNetwork == "" {
		return nil
	}
	var names []string
	for _, nic := range vm.Adapters {
		if strings.EqualFold(nic.Network, cfg.InternalVMNetwork) || strings.EqualFold(nic.Network, cfg.ExternalVMNetwork) {
			return nil
		}
		names = append(names, nic.Network)
	}
	return fmt.Errorf("vm %s: it is on neither of the networks %q and %q, but on %q",
		vm, cfg.InternalVMNetwork, cfg.ExternalVMNetwork, names)
}

func without(of []candidate, excluded []netip.Prefix) []candidate {
	return slices.DeleteFunc(slices.Clone(of), func(c candidate) bool {
		return slices.ContainsFunc(excluded, func(p netip.Prefix) bool { return p.Contains(c.ip.WithZone("")) })
	})
}

func inSubnets(of []candidate, subnets []netip.Prefix) *candidate {
	for _, p := range subnets {
		for i := range of {
			if p.Contains(of[i].ip.WithZone("")) {
				return &of[i]
			}
		}
	}
	return nil
}

func onNetwork(of []candidate, network string) *candidate {
	if network == "" {
		return nil
	}
	for i := range of {
		if strings.EqualFold(of[i].network, network) {
			return &of[i]
		}
	}
	return nil
}

func firstOf(of []candidate) *candidate {
	if len(of) == 0 {
		return nil
	}
	return &of[0]
}

func appendAddress(list []v1.NodeAddress, kind v1.NodeAddressType, c *candidate) []v1.NodeAddress {
	if c == nil {
		return list
	}
	a := v1.NodeAddress{Type: kind, Address: c.ip.String()}
	if slices.Contains(list, a) {
		return list
	}
	return append(list, a)
}
