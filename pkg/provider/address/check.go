package address

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/guest"
)

// maxReported is how many adapters guest tools report, unless they are told otherwise.
const maxReported = 16

// check refuses a guest in which there is nothing to choose from, in upstream's order.
func (s *selector) check() *Problem {
	adapters := s.guest.Adapters
	if len(adapters) == 0 {
		return problem(GuestNotReporting, "guest reports no network adapters: VMware Tools (open-vm-tools) do not run in it, or not yet")
	}
	if n := &s.rules.Nodes; n.InternalVMNetwork != "" && n.ExternalVMNetwork != "" {
		wanted := func(a guest.Adapter) bool {
			return !a.Virtual && (strings.EqualFold(a.Network, n.InternalVMNetwork) || strings.EqualFold(a.Network, n.ExternalVMNetwork))
		}
		if !slices.ContainsFunc(adapters, wanted) {
			return problem(VMNetworksMissing, "vm is on neither of the networks %q (internal) and %q (external), but on %s",
				n.InternalVMNetwork, n.ExternalVMNetwork, s.networks())
		}
	}
	usable := func(a guest.Adapter) bool { return !a.Virtual && slices.ContainsFunc(a.Addresses, guest.Usable) }
	if !slices.ContainsFunc(adapters, usable) {
		return problem(NoUsableAddress, "guest reports no usable address: %s%s", s.reported(), s.crowded())
	}
	return nil
}

// familyMissing tells that no usable address is of a family.
func (s *selector) familyMissing(family config.IPFamily) *Problem {
	var others []netip.Addr
	for _, f := range []config.IPFamily{config.IPv4, config.IPv6} {
		for _, c := range s.guest.candidates(nil, f) {
			others = append(others, c.ip)
		}
	}
	return problem(IPFamilyMissing, "guest reports no usable %s address, which the vcenter's ip family (%s) asks for, but %s%s",
		family, list(s.rules.Families), list(others), s.crowded())
}

// allExcluded tells that every address of a family is excluded, as internal and as external one.
func (s *selector) allExcluded(family config.IPFamily) *Problem {
	internal, external := s.sides()
	return problem(AddressesExcluded, "every %s address of the guest (%s) is in an excluded internal network subnet (%s) and in an excluded external one (%s)",
		family, s.ips(), list(internal.exclude), list(external.exclude))
}

// crowded adds a hint where the guest's own adapters may not be among those that its tools report.
func (s *selector) crowded() string {
	if len(s.guest.Adapters) < maxReported {
		return ""
	}
	// kubernetes/cloud-provider-vsphere#338
	return "; guest tools report 16 adapters at most: name the vm's own in primary-nics, or others in exclude-nics, in the guest's tools.conf"
}
