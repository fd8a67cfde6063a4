package address

import (
	"fmt"
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

// Problem is what an operator should know of a VM's addresses: the error of a selection that was not possible, or a
// warning about one that was. Messages are the same for the same situation, so that they can be compared.
type Problem struct {
	Reason  Reason
	Message string // names no VM
}

// Error implements error.
func (p *Problem) Error() string { return p.Message }

// Reason is a name for a kind of problem, fit to be that of a Kubernetes Event.
type Reason string

// Reasons of errors.
const (
	// GuestNotReporting: the guest reports no adapters at all; its tools do not run, or not yet.
	GuestNotReporting Reason = "GuestNotReporting"
	// VMNetworksMissing: an internal and an external VM network are configured, and the VM is on neither.
	VMNetworksMissing Reason = "VMNetworksMissing"
	// NoUsableAddress: what is reported is local, or on adapters that are none of the VM's.
	NoUsableAddress Reason = "NoUsableAddress"
	// IPFamilyMissing: a configured family has no address.
	IPFamilyMissing Reason = "IPFamilyMissing"
	// AddressesExcluded: a configured family has none that is not excluded.
	AddressesExcluded Reason = "AddressesExcluded"
)

// StaticUnreadable is an error where guestinfo.metadata would decide and cannot be read, and a warning where it would not.
const StaticUnreadable Reason = "StaticAddressesUnreadable"

// Reasons of warnings.
const (
	// SubnetUnmatched: no address lies in the configured subnets, which therefore count for nothing.
	SubnetUnmatched Reason = "AddressSubnetUnmatched"
	// VMNetworkUnmatched: no address is on the configured VM network, which therefore counts for nothing.
	VMNetworkUnmatched Reason = "VMNetworkUnmatched"
	// NoInternalAddress: there is an external address of a family alone. Few things in a cluster work so.
	NoInternalAddress Reason = "NoInternalAddress"
	// NoExternalAddress: there is an internal address of a family alone, as when only internal ones are configured.
	NoExternalAddress Reason = "NoExternalAddress"
	// NodeIPUnknown: the kubelet's node IP is no address of the VM; the node controller will not initialize the node.
	NodeIPUnknown Reason = "NodeIPUnknown"
	// NodeIPExcluded: it is an excluded one; the node controller will not initialize the node.
	NodeIPExcluded Reason = "NodeIPExcluded"
	// NodeIPFamily: it is of a family that is not configured; the node controller will not initialize the node.
	NodeIPFamily Reason = "NodeIPFamilyUnconfigured"
	// NodeIPOverridesRules: it is the internal address against what is configured.
	NodeIPOverridesRules Reason = "NodeIPOverridesRules"
)

func problem(reason Reason, format string, args ...any) *Problem {
	return &Problem{reason, fmt.Sprintf(format, args...)}
}

func (s *selector) warn(reason Reason, format string, args ...any) {
	s.out.Warnings = append(s.out.Warnings, problem(reason, format, args...))
}

// list writes things one after the other.
func list[T any](things []T) string {
	if len(things) == 0 {
		return "none"
	}
	texts := make([]string, len(things))
	for i := range things {
		texts[i] = fmt.Sprint(things[i])
	}
	return strings.Join(texts, ", ")
}

// ips writes the candidates at hand, in an order that does not depend on which was preferred.
func (s *selector) ips() string {
	ips := make([]netip.Addr, len(s.of))
	for i, c := range s.of {
		ips[i] = c.ip
	}
	slices.SortFunc(ips, netip.Addr.Compare)
	return list(slices.Compact(ips))
}

// networks writes the names of the networks that the VM is on.
func (s *selector) networks() string {
	var names []string
	for _, a := range s.guest.Adapters {
		if name := fmt.Sprintf("%q", a.Network); !a.Virtual && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return list(names)
}

// reported says what is reported and does not count.
func (s *selector) reported() string {
	own, local := 0, []netip.Addr(nil)
	for _, a := range s.guest.Adapters {
		if !a.Virtual {
			own++
			local = append(local, a.Addresses...)
		}
	}
	switch {
	case own == 0:
		return fmt.Sprintf("its %d adapters were all made in the guest (by a CNI, say), none is the vm's", len(s.guest.Adapters))
	case len(local) == 0:
		return "the vm's adapters have none"
	}
	return "the vm's adapters have only local ones (" + list(local) + ")"
}

func (s *side) name() string {
	return map[Kind]string{Internal: "internal", External: "external"}[s.kind]
}

func (s *side) subnetsName() string { return s.name() + " network subnet" }
func (s *side) networkName() string { return s.name() + " VM network" }

// rules says what the configuration chose instead of the node IP.
func (s *side) rules(chosen netip.Addr) string {
	if !chosen.IsValid() {
		return "configuration finds none"
	}
	var by []string
	if len(s.subnets) > 0 {
		by = append(by, fmt.Sprintf("%ss %s", s.subnetsName(), list(s.subnets)))
	}
	if s.network != "" {
		by = append(by, fmt.Sprintf("%s %q", s.networkName(), s.network))
	}
	return fmt.Sprintf("configuration (%s) says %s", strings.Join(by, ", "), chosen)
}

// unmatched warns of what is configured for one side and has found nothing in a family, so that it does not count.
func (s *selector) unmatched(family config.IPFamily, side *side, c choice) {
	if c.by == bySubnet {
		return
	}
	if slices.ContainsFunc(side.subnets, func(p netip.Prefix) bool { return is(p.Addr(), family) }) {
		s.warn(SubnetUnmatched, "no %s address that the guest reports (%s) is in the %ss (%s) and not excluded",
			family, s.ips(), side.subnetsName(), list(side.subnets))
	}
	if side.network != "" && c.by != byNetwork {
		s.warn(VMNetworkUnmatched, "guest reports no %s address on the %s %q that is not excluded; vm is on %s",
			family, side.networkName(), side.network, s.networks())
	}
}

// oneOnly warns that one of both is there alone.
func (s *selector) oneOnly(family config.IPFamily, in, ex netip.Addr) {
	if in.IsValid() {
		s.warn(NoExternalAddress, "node has the internal %s address %s and no external one: none is where it is configured to be", family, in)
	} else {
		s.warn(NoInternalAddress, "node has the external %s address %s and no internal one: none is where it is configured to be", family, ex)
	}
}

// nodeIPMissing warns that the kubelet's address is none that counts.
func (s *selector) nodeIPMissing(ip netip.Addr) {
	s.warn(NodeIPUnknown, "the kubelet's node IP %s is none of the usable addresses that the guest reports (%s): the node cannot "+
		"be initialized%s", ip, s.ips(), s.crowded())
}
