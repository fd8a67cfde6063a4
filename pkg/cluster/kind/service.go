package kind

import (
	"fmt"
	"math/big"
	"net/netip"
	"strings"
)

// ServiceIP returns the n-th address, counted from 0, that a Service of ours may have for its own. They are taken from the
// end of the part of the Services' range from which an API server hands out none by itself while there are others (see
// KEP-3070): beneath 10.96.0.255 in kind's own range, so that nobody has it before us. It is known before there is a cluster.
func (c *Cluster) ServiceIP(n int) (netip.Addr, error) {
	first := c.services.Masked().Addr()
	free := reserved(c.services)
	// Of the reserved ones the first is the API server's, the tenth the DNS server's; those beneath are left to others.
	const others = 16
	if n < 0 || n >= free-others {
		return netip.Addr{}, fmt.Errorf("service subnet %s: has no %d addresses that are free to choose: give the cluster a larger serviceSubnet", c.services, n+1)
	}
	b := new(big.Int).SetBytes(first.AsSlice())
	b.Add(b, big.NewInt(int64(free-1-n)))
	addr, _ := netip.AddrFromSlice(b.FillBytes(make([]byte, first.BitLen()/8)))
	return addr, nil
}

// ServiceSubnet is the range of the Services' IPv4 addresses.
func (c *Cluster) ServiceSubnet() netip.Prefix { return c.services }

// PodSubnet is that of pods; the zero value where they have none.
func (c *Cluster) PodSubnet() netip.Prefix { return c.pods }

// reserved is how many addresses at the beginning of a Services' range are for those who ask for one by name: a sixteenth of
// it, at least 16, at most 256.
func reserved(subnet netip.Prefix) int {
	size := 1 << min(subnet.Addr().BitLen()-subnet.Bits(), 16)
	if size <= 16 {
		return 0
	}
	return min(max(16, size/16), 256)
}

// ipv4 picks the IPv4 range of a cluster's subnets, of which it may have one of each family.
func ipv4(subnets string) (netip.Prefix, error) {
	for s := range strings.SplitSeq(subnets, ",") {
		p, err := netip.ParsePrefix(strings.TrimSpace(s))
		if err != nil {
			return netip.Prefix{}, fmt.Errorf("subnet %q: %w", s, err)
		}
		if p.Addr().Is4() {
			return p.Masked(), nil
		}
	}
	return netip.Prefix{}, fmt.Errorf("subnets %q: none is of IPv4 addresses", subnets)
}
