package address_test

import (
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/address"
)

const (
	one = "lan 10.0.0.1"
	two = "lan 10.0.0.1 10.0.0.2 2001:db8::1 | wan 203.0.113.9 2001:db8:f::9"
)

// Each case has a VM's report, the configuration, and the results with our rules and with upstream's.
func TestSelect(t *testing.T) {
	for _, tc := range []struct{ name, adapters, rules, want string }{
		// Nothing configured.
		{"one address", one, "", "10.0.0.1/10.0.0.1"},
		{"first of several", two, "", "10.0.0.1/10.0.0.1"},
		{"first adapter without addresses", "dark | lan 10.0.0.1", "", "10.0.0.1/10.0.0.1"},
		{"first adapter with ipv6 alone", "six 2001:db8::5 | lan 10.0.0.1", "", "10.0.0.1/10.0.0.1"},
		{"adapter of no network", ". 10.0.0.1", "", "10.0.0.1/10.0.0.1"},
		{"the same address twice", "lan 10.0.0.1 | wan 10.0.0.1", "", "10.0.0.1/10.0.0.1"},
		// Families.
		{"ipv6", two, "v=6", "2001:db8::1/2001:db8::1"},
		{"ipv6, unique local", "lan fd00::1", "v=6", "fd00::1/fd00::1"},
		{"dual stack", two, "v=46", "10.0.0.1/10.0.0.1 2001:db8::1/2001:db8::1"},
		{"dual stack, ipv6 first", two, "v=64", "2001:db8::1/2001:db8::1 10.0.0.1/10.0.0.1"},
		{"dual stack, on two adapters", "lan 10.0.0.1 | six 2001:db8::5", "v=46", "10.0.0.1/10.0.0.1 2001:db8::5/2001:db8::5"},
		{"ipv6 missing", one, "v=6", "error: IPFamilyMissing"},
		{"ipv4 missing", "lan 2001:db8::5", "v=4", "error: IPFamilyMissing"},
		{"dual stack, ipv6 missing", one, "v=46", "error: IPFamilyMissing"},
		{"dual stack, ipv4 missing", "lan 2001:db8::5", "v=46", "error: IPFamilyMissing"},
		{"dual stack, ipv6 local", "lan 10.0.0.1 fe80::1", "v=46", "error: IPFamilyMissing"},
		{"a family twice", one, "v=44", "10.0.0.1/10.0.0.1"},
		// Ignored addresses.
		{"no adapters", "", "", "error: GuestNotReporting"},
		{"adapters without addresses", "lan | wan", "", "error: NoUsableAddress"},
		{"local addresses alone", "lan 127.0.0.1 169.254.1.1 fe80::1 ::1 0.0.0.0 :: 224.0.0.1 ff02::1", "", "error: NoUsableAddress"},
		{"local addresses first", "lan 127.0.0.1 169.254.1.1 fe80::1 | wan 10.0.0.1", "", "10.0.0.1/10.0.0.1"},
		{"a CNI's adapters alone", "-cni0 10.244.0.1 | -docker0 172.17.0.1", "", "error: NoUsableAddress"},
		{"a CNI's adapters first", "-cni0 10.244.0.1 | lan 10.0.0.1", "", "10.0.0.1/10.0.0.1"},
		{"a CNI's adapter in the subnet", "-cni0 10.244.0.1 | lan 192.168.0.1", "in=10.0.0.0/8", "192.168.0.1/192.168.0.1 AddressSubnetUnmatched"},
		{"a CNI's adapter on the network", "-lan 10.244.0.1 | wan 192.168.0.1", "in-net=lan", "192.168.0.1/192.168.0.1 VMNetworkUnmatched"},
		// Subnets.
		{"subnets", two, "in=10.0.0.2/32 ex=203.0.113.0/24", "10.0.0.2/203.0.113.9"},
		{"the same subnet", two, "in=10.0.0.0/8 ex=10.0.0.0/8", "10.0.0.1/10.0.0.1"},
		{"first subnet, not first address", two, "in=203.0.113.0/24,10.0.0.0/8", "203.0.113.9/ NoExternalAddress"},
		{"second subnet", two, "in=192.0.2.0/24,203.0.113.0/24 ex=10.0.0.0/8", "203.0.113.9/10.0.0.1"},
		{"subnets of ipv6", two, "v=6 in=2001:db8:f::/48 ex=2001:db8::/48", "2001:db8:f::9/2001:db8::1"},
		{"internal subnet alone", two, "in=203.0.113.0/24", "203.0.113.9/ NoExternalAddress"},
		{"external subnet alone", two, "ex=203.0.113.0/24", "/203.0.113.9 NoInternalAddress"},
		{"internal subnet unmatched", two, "in=192.0.2.0/24", "10.0.0.1/10.0.0.1 AddressSubnetUnmatched"},
		{"both subnets unmatched", two, "in=192.0.2.0/24 ex=192.0.2.0/24", "10.0.0.1/10.0.0.1 AddressSubnetUnmatched AddressSubnetUnmatched"},
		{"external subnet unmatched, internal not", two, "in=203.0.113.0/24 ex=192.0.2.0/24", "203.0.113.9/ AddressSubnetUnmatched NoExternalAddress"},
		{"dual stack, subnets of both", two, "v=46 in=10.0.0.2/32,2001:db8:f::/48 ex=203.0.113.0/24,2001:db8::/48", "10.0.0.2/203.0.113.9 2001:db8:f::9/2001:db8::1"},
		{"dual stack, subnet of one", two, "v=46 in=10.0.0.2/32 ex=203.0.113.0/24", "10.0.0.2/203.0.113.9 2001:db8::1/2001:db8::1"},
		{"everything is a subnet", two, "in=0.0.0.0/0 ex=203.0.113.9/32", "10.0.0.1/203.0.113.9"},
		// VM networks.
		{"networks", two, "in-net=lan ex-net=wan", "10.0.0.1/203.0.113.9"},
		{"networks, in any case", two, "in-net=WAN ex-net=Lan", "203.0.113.9/10.0.0.1"},
		{"the same network", two, "in-net=wan ex-net=wan", "203.0.113.9/203.0.113.9"},
		{"two adapters on the network", "wan 203.0.113.9 | lan 10.0.0.1 | lan 10.0.0.2", "in-net=lan ex-net=wan", "10.0.0.1/203.0.113.9"},
		{"internal network alone", two, "in-net=wan", "203.0.113.9/ NoExternalAddress"},
		{"external network alone", two, "ex-net=wan", "/203.0.113.9 NoInternalAddress"},
		{"internal network absent", two, "in-net=x", "10.0.0.1/10.0.0.1 VMNetworkUnmatched"},
		{"external network absent", two, "ex-net=x", "10.0.0.1/10.0.0.1 VMNetworkUnmatched"},
		{"one of two networks absent", two, "in-net=x ex-net=wan", "/203.0.113.9 VMNetworkUnmatched NoInternalAddress"},
		{"both networks absent", two, "in-net=x ex-net=y", "error: VMNetworksMissing"},
		{"both networks absent, subnets match", two, "in-net=x ex-net=y in=10.0.0.0/8 ex=10.0.0.0/8", "error: VMNetworksMissing"},
		{"networks of a CNI's adapters alone", "-x 10.244.0.1 | lan 10.0.0.1", "in-net=x ex-net=y", "error: VMNetworksMissing"},
		{"network without addresses", "dark | lan 10.0.0.1", "in-net=dark ex-net=lan", "/10.0.0.1 VMNetworkUnmatched NoInternalAddress"},
		{"both networks without addresses", "a | b | lan 10.0.0.1", "in-net=a ex-net=b", "10.0.0.1/10.0.0.1 VMNetworkUnmatched VMNetworkUnmatched"},
		{"network with local addresses", "a 169.254.1.1 | lan 10.0.0.1", "in-net=a", "10.0.0.1/10.0.0.1 VMNetworkUnmatched"},
		{"network of ipv6", two, "v=6 in-net=wan ex-net=lan", "2001:db8:f::9/2001:db8::1"},
		{"dual stack, network of one", "lan 10.0.0.1 | six 2001:db8::5", "v=46 in-net=lan ex-net=lan", "10.0.0.1/10.0.0.1 2001:db8::5/2001:db8::5 VMNetworkUnmatched VMNetworkUnmatched"},
		// Subnets and VM networks.
		{"subnet before network", two, "in=10.0.0.2/32 in-net=wan", "10.0.0.2/ NoExternalAddress"},
		{"network where the subnet has none", two, "in=192.0.2.0/24 in-net=wan", "203.0.113.9/ AddressSubnetUnmatched NoExternalAddress"},
		{"subnet inside, network outside", two, "in=10.0.0.2/32 ex-net=wan", "10.0.0.2/203.0.113.9"},
		{"network inside, subnet outside", two, "in-net=wan ex=10.0.0.2/32", "203.0.113.9/10.0.0.2"},
		// Exclusion.
		{"excluded inside", two, "not-in=10.0.0.1/32", "10.0.0.2/10.0.0.1"},
		{"excluded outside", two, "not-ex=10.0.0.0/8", "10.0.0.1/203.0.113.9"},
		{"excluded on both sides", two, "not-in=10.0.0.1/32 not-ex=10.0.0.1/32", "10.0.0.2/10.0.0.2"},
		{"several excluded", two, "not-in=10.0.0.1/32,10.0.0.2/32", "203.0.113.9/10.0.0.1"},
		{"all excluded inside", two, "not-in=0.0.0.0/0", "/10.0.0.1 NoInternalAddress"},
		{"all excluded outside", two, "not-ex=0.0.0.0/0", "10.0.0.1/ NoExternalAddress"},
		{"all excluded", two, "not-in=0.0.0.0/0 not-ex=0.0.0.0/0", "error: AddressesExcluded"},
		{"excluded before subnet", two, "in=10.0.0.0/8 not-in=10.0.0.1/32", "10.0.0.2/ NoExternalAddress"},
		{"excluded before network", two, "in-net=lan not-in=10.0.0.0/8", "203.0.113.9/10.0.0.1 VMNetworkUnmatched"},
		{"the whole subnet excluded", two, "in=10.0.0.0/8 not-in=10.0.0.0/8", "203.0.113.9/10.0.0.1 AddressSubnetUnmatched"},
		{"ipv6 excluded", two, "v=6 not-in=2001:db8::/64", "2001:db8:f::9/2001:db8::1"},
		{"dual stack, one family excluded", two, "v=46 not-in=::/0 not-ex=::/0", "error: AddressesExcluded"},
		{"dual stack, exclusion of the other family", two, "v=46 not-in=10.0.0.1/32", "10.0.0.2/10.0.0.1 2001:db8::1/2001:db8::1"},
		{"a virtual address excluded", "lan 10.0.0.100 10.0.0.1", "not-in=10.0.0.100/32 not-ex=10.0.0.100/32", "10.0.0.1/10.0.0.1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g, r := address.Guest{Adapters: adapters(tc.adapters)}, rules(t, tc.rules)
			for _, r.Upstream = range []bool{false, true} {
				if got := written(address.Select(g, r)); got != tc.want {
					t.Errorf("upstream %v: %s, want %s", r.Upstream, got, tc.want)
				}
			}
		})
	}
}
