package address

import (
	"net/netip"
	"slices"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

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
