package guest

import (
	"net/netip"
	"testing"
)

func TestFollowing(t *testing.T) {
	for _, tc := range []struct{ name, from, want string }{
		{"the next", "198.18.0.2/24", "198.18.0.3/24"},
		{"one that is taken is skipped", "198.18.0.8/24", "198.18.0.10/24"},
		{"from the start again, behind the gateway", "198.18.0.254/24", "198.18.0.2/24"},
		{"gateway's own", "198.18.0.1/24", "198.18.0.2/24"},
		{"a network of one", "198.18.0.7/32", "198.18.0.7/32"},
		{"a network of two", "198.18.0.6/31", "198.18.0.6/31"},
		{"a network that is full", "198.18.7.9/30", "198.18.7.9/30"},
		{"IPv6", "2001:db8::2/64", "2001:db8::3/64"},
		{"the end of all", "255.255.255.254/24", "255.255.255.2/24"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			free := func(a netip.Addr) bool {
				return a != netip.MustParseAddr("198.18.0.9") && !netip.MustParsePrefix("198.18.7.8/30").Contains(a)
			}
			if got := following(netip.MustParsePrefix(tc.from), free); got.String() != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}
