package address_test

import (
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/address"
)

// The stock node controller does not initialize a node without the kubelet's node IP among its addresses:
// kubernetes/cloud-provider-vsphere#614, #1455.
func TestSelectNodeIP(t *testing.T) {
	const vip = "lan 10.0.0.100 10.0.0.1 2001:db8::100 2001:db8::1 | wan 203.0.113.9 203.0.113.10"
	for _, tc := range []struct{ name, adapters, rules, want, upstream string }{
		{"it is the first", vip, "node=10.0.0.100", "10.0.0.100/10.0.0.100", "10.0.0.100/10.0.0.100"},
		{"it is not the first", vip, "node=10.0.0.1", "10.0.0.1/10.0.0.1", "10.0.0.100/10.0.0.100"},
		{"in the subnet, not the first", vip, "node=10.0.0.1 in=10.0.0.0/8 ex=203.0.113.0/24", "10.0.0.1/203.0.113.9", "10.0.0.100/203.0.113.9"},
		{"in the external subnet", vip, "node=203.0.113.10 in=10.0.0.0/8 ex=203.0.113.0/24", "10.0.0.100/203.0.113.10", "10.0.0.100/203.0.113.9"},
		{"the external one", vip, "node=203.0.113.9 in-net=lan ex-net=wan", "10.0.0.100/203.0.113.9", "10.0.0.100/203.0.113.9"},
		{"on the network, not the first", vip, "node=10.0.0.1 in-net=lan ex-net=wan", "10.0.0.1/203.0.113.9", "10.0.0.100/203.0.113.9"},
		{"in neither subnet", vip, "node=203.0.113.9 in=10.0.0.0/8 ex=10.0.0.0/8", "203.0.113.9/10.0.0.100 NodeIPOverridesRules", "10.0.0.100/10.0.0.100"},
		{"in the second subnet", vip, "node=10.0.0.1 in=203.0.113.0/24,10.0.0.0/8", "10.0.0.1/ NodeIPOverridesRules NoExternalAddress", "203.0.113.9/ NoExternalAddress"},
		{"in place of none", vip, "node=10.0.0.1 ex=203.0.113.0/24", "10.0.0.1/203.0.113.9 NodeIPOverridesRules", "/203.0.113.9 NoInternalAddress"},
		{"excluded inside, first outside", vip, "node=10.0.0.1 not-in=10.0.0.1/32", "10.0.0.100/10.0.0.1", "10.0.0.100/10.0.0.100"},
		{"excluded", vip, "node=10.0.0.1 not-in=10.0.0.1/32 not-ex=10.0.0.1/32", "10.0.0.100/10.0.0.100 NodeIPExcluded", "10.0.0.100/10.0.0.100"},
		{"excluded outside", vip, "node=10.0.0.1 not-ex=10.0.0.1/32", "10.0.0.1/10.0.0.100", "10.0.0.100/10.0.0.100"},
		{"none of the VM's", vip, "node=10.0.0.7", "10.0.0.100/10.0.0.100 NodeIPUnknown", "10.0.0.100/10.0.0.100"},
		{"of a CNI's adapter", "lan 10.0.0.1 | -cni0 10.244.0.1", "node=10.244.0.1", "10.0.0.1/10.0.0.1 NodeIPUnknown", "10.0.0.1/10.0.0.1"},
		{"local", "lan 10.0.0.1 169.254.1.1", "node=169.254.1.1", "10.0.0.1/10.0.0.1 NodeIPUnknown", "10.0.0.1/10.0.0.1"},
		{"of another family", vip, "node=2001:db8::1", "10.0.0.100/10.0.0.100 NodeIPFamilyUnconfigured", "10.0.0.100/10.0.0.100"},
		{"dual stack", vip, "v=46 node=10.0.0.1,2001:db8::1", "10.0.0.1/10.0.0.1 2001:db8::1/2001:db8::1", "10.0.0.100/10.0.0.100 2001:db8::100/2001:db8::100"},
		{"dual stack, of one", vip, "v=64 node=10.0.0.1", "2001:db8::100/2001:db8::100 10.0.0.1/10.0.0.1", "2001:db8::100/2001:db8::100 10.0.0.100/10.0.0.100"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g, r := address.Guest{Adapters: adapters(tc.adapters)}, rules(t, tc.rules)
			if got := written(address.Select(g, r)); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
			r.Upstream = true
			if got := written(address.Select(g, r)); got != tc.upstream {
				t.Errorf("upstream: %s, want %s", got, tc.upstream)
			}
		})
	}
	// The node IP has priority over static addresses, which have priority over the others.
	g := address.Guest{Adapters: adapters(vip), Static: ips("203.0.113.9")}
	if got := written(address.Select(g, rules(t, "node=10.0.0.1"))); got != "10.0.0.1/10.0.0.1" {
		t.Error(got)
	}
}
