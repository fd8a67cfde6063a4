package address

import (
	"net/netip"
	"slices"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// nodeIP sees to it that the kubelet's address of this family is among the node's. The stock node controller initializes
// no node that lacks it (k8s.io/cloud-provider, node/helpers/address.go; kubernetes/cloud-provider-vsphere#614, #1455).
// Where the rules leave it out, it is put before all other candidates and the rules are asked again; where they leave
// it out still, it takes the place of the internal address.
func (s *selector) nodeIP(family config.IPFamily, internal, external *side, in, ex netip.Addr) (netip.Addr, netip.Addr) {
	i := slices.IndexFunc(s.rules.NodeIPs, func(ip netip.Addr) bool { return is(ip, family) })
	if i < 0 {
		return in, ex
	}
	want := s.rules.NodeIPs[i]
	if want == in || want == ex {
		return in, ex
	}
	if !s.prefer(want) {
		s.nodeIPMissing(want)
		return in, ex
	}
	c := choose(s.of, internal, external)
	if again, other := s.at(c.internal), s.at(c.external); want == again || want == other {
		return again, other
	}
	if internal.excludes(want) {
		s.warn(NodeIPExcluded, "the kubelet's node IP %s is in an excluded internal network subnet (%s), and no rule makes "+
			"it the external address: the node cannot be initialized", want, list(internal.exclude))
		return in, ex
	}
	s.warn(NodeIPOverridesRules, "the kubelet's node IP %s is the internal address, though the %s", want, internal.rules(in))
	return want, ex
}

// prefer puts an address before all other candidates, and tells whether it is one.
func (s *selector) prefer(ip netip.Addr) bool {
	is := func(c candidate) bool { return c.ip == ip }
	if !slices.ContainsFunc(s.of, is) {
		return false
	}
	slices.SortStableFunc(s.of, func(a, b candidate) int {
		switch {
		case is(a) == is(b):
			return 0
		case is(a):
			return -1
		}
		return 1
	})
	return true
}

// foreignNodeIPs warns of node IPs of families that are not configured.
func (s *selector) foreignNodeIPs() {
	if s.rules.Upstream {
		return
	}
	for _, ip := range s.rules.NodeIPs {
		if family := familyOf(ip); !slices.Contains(s.rules.Families, family) {
			s.warn(NodeIPFamily, "the kubelet's node IP %s is an %s address, and the vcenter's ip family is %s: the node cannot be "+
				"initialized", ip, family, list(s.rules.Families))
		}
	}
}
