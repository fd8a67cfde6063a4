package address_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/address"
)

func TestSelectStatic(t *testing.T) {
	for _, tc := range []struct{ name, static, adapters, rules, want string }{
		{"comes first", "10.0.0.2", two, "", "10.0.0.2/10.0.0.2"},
		{"on the second adapter", "203.0.113.9", two, "", "203.0.113.9/203.0.113.9"},
		{"in their own order", "203.0.113.9 10.0.0.2", two, "", "203.0.113.9/203.0.113.9"},
		{"on no adapter", "192.0.2.1", two, "", "10.0.0.1/10.0.0.1"},
		{"first one on no adapter", "192.0.2.1 10.0.0.2", two, "", "10.0.0.2/10.0.0.2"},
		{"on a CNI's adapter", "10.244.0.1", "-cni0 10.244.0.1 | lan 10.0.0.1", "", "10.0.0.1/10.0.0.1"},
		{"local", "169.254.1.1", "lan 10.0.0.1 169.254.1.1", "", "10.0.0.1/10.0.0.1"},
		{"twice", "10.0.0.2 10.0.0.1 10.0.0.2", two, "", "10.0.0.2/10.0.0.2"},
		{"on two adapters", "10.0.0.2", "lan 10.0.0.1 | wan 10.0.0.2 | dmz 10.0.0.2", "in-net=dmz", "10.0.0.2/ NoExternalAddress"},
		{"of the other family", "2001:db8:f::9", two, "", "10.0.0.1/10.0.0.1"},
		{"ipv6", "2001:db8:f::9", two, "v=6", "2001:db8:f::9/2001:db8:f::9"},
		{"dual stack", "2001:db8:f::9 10.0.0.2", two, "v=46", "10.0.0.2/10.0.0.2 2001:db8:f::9/2001:db8:f::9"},
		{"within a subnet", "10.0.0.2", two, "in=10.0.0.0/8 ex=203.0.113.0/24", "10.0.0.2/203.0.113.9"},
		{"outside the subnet", "203.0.113.9", two, "in=10.0.0.0/8 ex=10.0.0.0/8", "10.0.0.1/10.0.0.1"},
		{"on the network", "10.0.0.2", two, "in-net=lan ex-net=wan", "10.0.0.2/203.0.113.9"},
		{"not on the network", "203.0.113.9", two, "in-net=lan ex-net=lan", "10.0.0.1/10.0.0.1"},
		{"excluded", "10.0.0.2", two, "not-in=10.0.0.2/32", "10.0.0.1/10.0.0.2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g, r := address.Guest{Adapters: adapters(tc.adapters), Static: ips(strings.Fields(tc.static)...)}, rules(t, tc.rules)
			for _, r.Upstream = range []bool{false, true} {
				if got := written(address.Select(g, r)); got != tc.want {
					t.Errorf("upstream %v: %s, want %s", r.Upstream, got, tc.want)
				}
			}
		})
	}
}

// Unreadable metadata is always an error upstream, and here only if it could have decided.
func TestSelectStaticUnreadable(t *testing.T) {
	const failed, harmless = "error: StaticAddressesUnreadable", " StaticAddressesUnreadable"
	for _, tc := range []struct{ name, adapters, rules, want string }{
		{"one address", one, "", "10.0.0.1/10.0.0.1" + harmless},
		{"one of the family", "lan 10.0.0.1 2001:db8::1", "v=46", "10.0.0.1/10.0.0.1 2001:db8::1/2001:db8::1" + harmless + harmless},
		{"one that is not local", "lan 169.254.1.1 10.0.0.1 | -cni 10.244.0.1", "", "10.0.0.1/10.0.0.1" + harmless},
		{"one address on two adapters", "lan 10.0.0.1 | wan 10.0.0.1", "", "10.0.0.1/10.0.0.1" + harmless},
		{"two addresses", "lan 10.0.0.1 10.0.0.2", "", failed},
		{"one in each subnet", two, "in=10.0.0.2/32 ex=203.0.113.0/24", "10.0.0.2/203.0.113.9" + harmless},
		{"two in a subnet", two, "in=10.0.0.0/8 ex=203.0.113.0/24", failed},
		{"two in the second subnet", two, "in=203.0.113.0/24,10.0.0.0/8 ex=203.0.113.0/24", "203.0.113.9/203.0.113.9" + harmless},
		{"one on the network", two, "in-net=wan", "203.0.113.9/" + harmless + " NoExternalAddress"},
		{"two on the network", two, "in-net=lan ex-net=wan", failed},
		{"one that is not excluded", "lan 10.0.0.1 10.0.0.2", "not-in=10.0.0.1/32 not-ex=10.0.0.1/32", "10.0.0.2/10.0.0.2" + harmless},
		{"one inside, two outside", "lan 10.0.0.1 10.0.0.2", "not-in=10.0.0.1/32", failed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := address.Guest{Adapters: adapters(tc.adapters), StaticErr: errors.New("guestinfo.metadata: gone")}
			r := rules(t, tc.rules)
			got, err := address.Select(g, r)
			if text := written(got, err); text != tc.want {
				t.Errorf("%s, want %s", text, tc.want)
			}
			if err != nil && !strings.Contains(err.Error(), "guestinfo.metadata: gone") {
				t.Errorf("%v does not say why", err)
			}
			r.Upstream = true
			if got := written(address.Select(g, r)); got != failed {
				t.Errorf("upstream: %s, want %s", got, failed)
			}
		})
	}
}
