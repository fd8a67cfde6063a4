package topology

import (
	"math"
	"net/netip"
	"testing"
)

func TestSubnet(t *testing.T) {
	tests := []struct {
		cidr, gateway, first, last string
		size                       uint64
	}{
		{"10.0.0.0/30", "10.0.0.1", "10.0.0.2", "10.0.0.2", 1},
		{"10.0.0.0/29", "10.0.0.1", "10.0.0.2", "10.0.0.6", 5},
		{"10.0.0.128/25", "10.0.0.129", "10.0.0.130", "10.0.0.254", 125},
		{"10.0.0.0/8", "10.0.0.1", "10.0.0.2", "10.255.255.254", 1<<24 - 3},
		{"2001:db8::/126", "2001:db8::1", "2001:db8::2", "2001:db8::3", 2},
		{"2001:db8::/66", "2001:db8::1", "2001:db8::2", "2001:db8::3fff:ffff:ffff:ffff", 1<<62 - 2},
		{"2001:db8::/64", "2001:db8::1", "2001:db8::2", "2001:db8:0:0:8000::", math.MaxInt64},
		{"2001:db8::/32", "2001:db8::1", "2001:db8::2", "2001:db8:0:0:8000::", math.MaxInt64},
	}
	for _, test := range tests {
		n := newSubnet(&Network{CIDR: test.cidr})
		if n == nil {
			t.Errorf("%s is refused", test.cidr)
			continue
		}
		if n.size != test.size {
			t.Errorf("%s has %d addresses, want %d", test.cidr, n.size, test.size)
		}
		for got, want := range map[netip.Addr]string{n.gateway: test.gateway, n.address(0): test.first, n.address(n.size - 1): test.last} {
			if got.String() != want {
				t.Errorf("%s: %s, want %s", test.cidr, got, want)
			}
			if !n.prefix.Contains(got) {
				t.Errorf("%s is not in %s", got, test.cidr)
			}
		}
	}
}
