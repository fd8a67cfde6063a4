package address

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/guest"
)

// maxReported is how many adapters guest tools report by default.
const maxReported = 16

// check refuses a guest without an address to select, in upstream's order.
func (s *selector) check() *Problem {
	adapters := s.guest.Adapters
	if len(adapters) == 0 {
		return problem(GuestNotReporting, "guest reports no network adapters: VMware Tools (open-vm-tools) does not run in it, or has not started yet")
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
		return problem(NoUsableAddress, "guest reports no usable address: %s%s", s.reported(), s.adapterLimitHint())
	}
	return nil
}

// familyMissing returns the problem that no usable address is of a family.
func (s *selector) familyMissing(family config.IPFamily) *Problem {
	var others []netip.Addr
	for _, f := range []config.IPFamily{config.IPv4, config.IPv6} {
		for _, c := range s.guest.appendCandidates(nil, f) {
			others = append(others, c.ip)
		}
	}
	return problem(IPFamilyMissing, "guest reports no usable %s address, which the vcenter's ip family (%s) asks for, but %s%s",
		family, list(s.rules.Families), list(others), s.adapterLimitHint())
}

// allExcluded returns the problem that every address of a family is excluded, both as internal and as external address.
func (s *selector) allExcluded(family config.IPFamily) *Problem {
	internal, external := s.sides()
	return problem(AddressesExcluded, "every %s address of the guest (%s) is in an excluded internal network subnet (%s) and in an excluded external one (%s)",
		family, s.ips(), list(internal.exclude), list(external.exclude))
}

// adapterLimitHint adds a hint if guest tools may not report all adapters.
func (s *selector) adapterLimitHint() string {
	if len(s.guest.Adapters) < maxReported {
		return ""
	}
	// kubernetes/cloud-provider-vsphere#338
	return "; guest tools report 16 adapters at most: name the vm's own in primary-nics, or others in exclude-nics, in the guest's tools.conf"
}

// Problem describes a VM's addresses to an operator: the error of a failed selection, or a warning about a successful one.
// The same situation always has the same message, so that messages can be compared.
type Problem struct {
	Reason  Reason
	Message string // without the VM
	// Notice reports that it is worth knowing and affects nothing.
	Notice bool
}

// Error implements error.
func (p *Problem) Error() string { return p.Message }

// Reason is the kind of a problem, usable as the reason of a Kubernetes Event.
type Reason string

// The reasons of errors.
const (
	// GuestNotReporting: the guest reports no adapters; its tools do not run, or have not started yet.
	GuestNotReporting Reason = "GuestNotReporting"
	// VMNetworksMissing: an internal and an external VM network are configured, and the VM is on neither.
	VMNetworksMissing Reason = "VMNetworksMissing"
	// NoUsableAddress: the reported addresses are local, or on adapters that are not the VM's.
	NoUsableAddress Reason = "NoUsableAddress"
	// IPFamilyMissing: a configured family has no address.
	IPFamilyMissing Reason = "IPFamilyMissing"
	// AddressesExcluded: every address of a configured family is excluded.
	AddressesExcluded Reason = "AddressesExcluded"
)

// StaticUnreadable is an error if guestinfo.metadata would decide but cannot be read, and a warning if it would not decide.
const StaticUnreadable Reason = "StaticAddressesUnreadable"

// The reasons of warnings.
const (
	// SubnetUnmatched: no address is in the configured subnets, which are therefore ignored.
	SubnetUnmatched Reason = "AddressSubnetUnmatched"
	// VMNetworkUnmatched: no address is on the configured VM network, which is therefore ignored.
	VMNetworkUnmatched Reason = "VMNetworkUnmatched"
	// NoInternalAddress: a family has only an external address. Few things in a cluster work like that.
	NoInternalAddress Reason = "NoInternalAddress"
	// NoExternalAddress: a family has only an internal address, as when only internal ones are configured.
	NoExternalAddress Reason = "NoExternalAddress"
	// NodeIPUnknown: the kubelet's node IP is not an address of the VM; the node controller will not initialize the node.
	NodeIPUnknown Reason = "NodeIPUnknown"
	// NodeIPExcluded: the node IP is excluded; the node controller will not initialize the node.
	NodeIPExcluded Reason = "NodeIPExcluded"
	// NodeIPFamily: the node IP's family is not configured; the node controller will not initialize the node.
	NodeIPFamily Reason = "NodeIPFamilyUnconfigured"
	// NodeIPOverridesRules: the node IP is the internal address, although the configuration selects another.
	NodeIPOverridesRules Reason = "NodeIPOverridesRules"
	// SharedAddress: another VM's guest reports the same address.
	SharedAddress Reason = "AddressShared"
	// VirtualAddress: an address looks like a virtual IP that moves between VMs; see [guest.Adapter].
	VirtualAddress Reason = "VirtualAddress"
	// HostNameShared: another VM's guest reports the same hostname.
	HostNameShared Reason = "GuestHostNameShared"
	// HostNameLocal: the guest's hostname is localhost.
	HostNameLocal Reason = "GuestHostNameLocal"
)

func problem(reason Reason, format string, args ...any) *Problem {
	return &Problem{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

func (s *selector) warn(reason Reason, format string, args ...any) {
	s.out.Warnings = append(s.out.Warnings, problem(reason, format, args...))
}

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

// ips formats the current candidates in an order that does not depend on preference.
func (s *selector) ips() string {
	ips := make([]netip.Addr, len(s.candidates))
	for i, c := range s.candidates {
		ips[i] = c.ip
	}
	slices.SortFunc(ips, netip.Addr.Compare)
	return list(slices.Compact(ips))
}

// networks formats the names of the VM's networks.
func (s *selector) networks() string {
	var names []string
	for _, a := range s.guest.Adapters {
		if name := fmt.Sprintf("%q", a.Network); !a.Virtual && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return list(names)
}

// reported describes the addresses that do not count.
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

// rules describes what the configuration selects instead of the node IP.
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

// unmatched warns about subnets and a VM network of one side that match nothing in a family.
func (s *selector) unmatched(family config.IPFamily, side *side, c choice) {
	if c.by == bySubnet {
		return
	}
	if slices.ContainsFunc(side.subnets, func(p netip.Prefix) bool { return isFamily(p.Addr(), family) }) {
		s.warn(SubnetUnmatched, "no %s address that the guest reports (%s) is in the %ss (%s) and not excluded",
			family, s.ips(), side.subnetsName(), list(side.subnets))
	}
	if side.network != "" && c.by != byNetwork {
		s.warn(VMNetworkUnmatched, "guest reports no %s address on the %s %q that is not excluded; vm is on %s",
			family, side.networkName(), side.network, s.networks())
	}
}

// oneOnly warns that a family has only one of the two addresses.
func (s *selector) oneOnly(family config.IPFamily, in, ex netip.Addr) {
	if in.IsValid() {
		s.warn(NoExternalAddress, "node has the internal %s address %s and no external one: none is where it is configured to be", family, in)
	} else {
		s.warn(NoInternalAddress, "node has the external %s address %s and no internal one: none is where it is configured to be", family, ex)
	}
}

// nodeIPMissing warns that the kubelet's node IP is not a usable address.
func (s *selector) nodeIPMissing(ip netip.Addr) {
	s.warn(NodeIPUnknown, "the kubelet's node IP %s is none of the usable addresses that the guest reports (%s): the node cannot "+
		"be initialized%s", ip, s.ips(), s.adapterLimitHint())
}

// doubtful reports addresses that may not be the VM's own: as warnings if the node has them, else as notices. It omits
// addresses that the configuration excludes.
func (s *selector) doubtful(internal, external *side, in, ex netip.Addr) {
	var seen []netip.Addr
	for _, c := range s.candidates {
		if !c.floating && !c.shared || slices.Contains(seen, c.ip) || internal.excludes(c.ip) && external.excludes(c.ip) {
			continue
		}
		seen = append(seen, c.ip)
		with := ""
		if c.shared {
			with = s.guest.SharedWith(c.ip)
		}
		p := problem(VirtualAddress, "%s/32 is beside another address of its adapter, as a virtual IP that moves between VMs is", c.ip)
		switch {
		case c.floating && c.shared:
			p.Message += ", and " + with + " reports it too"
		case c.shared:
			p = problem(SharedAddress, "%s reports the address %s too", with, c.ip)
		}
		if p.Notice = c.ip != in && c.ip != ex; p.Notice {
			p.Message += "; it is not used, since the vm has another address"
		} else {
			p.Message += "; the node has it all the same, since no other address suits the configuration, or this one came first"
		}
		s.out.Warnings = append(s.out.Warnings, p)
	}
}
