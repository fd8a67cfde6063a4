package address

import "fmt"

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
