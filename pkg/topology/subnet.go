package topology

import (
	"encoding/binary"
	"math"
	"net/netip"
)

// subnet is a network whose NICs get their addresses from its CIDR.
type subnet struct {
	prefix  netip.Prefix
	network string
	gateway netip.Addr
	// size counts the addresses that can be given out: all but the network's own, the gateway's and, with IPv4, the
	// broadcast address.
	size uint64
	// needs counts the NICs of each VM entry that want an address, and got those that have theirs.
	needs, got map[*path]int
	full       bool
}

func newSubnet(network *Network) *subnet {
	prefix, err := parseSubnet(network.CIDR)
	if err != nil {
		return nil
	}
	n := &subnet{prefix: prefix, network: network.Name, gateway: gatewayOf(prefix), needs: map[*path]int{}, got: map[*path]int{}}
	switch bits := prefix.Addr().BitLen() - prefix.Bits(); {
	case prefix.Addr().Is4():
		n.size = 1<<bits - 3
	case bits < 63:
		n.size = 1<<bits - 2
	default:
		n.size = math.MaxInt64 // the lower half of the range: nobody will see its end
	}
	return n
}

// gatewayOf is the first address after the network's own.
func gatewayOf(prefix netip.Prefix) netip.Addr { return prefix.Masked().Addr().Next() }

// address is the nth one of those that can be given out.
func (n *subnet) address(number uint64) netip.Addr {
	first := n.gateway.Next()
	if first.Is4() {
		raw := first.As4()
		binary.BigEndian.PutUint32(raw[:], binary.BigEndian.Uint32(raw[:])+uint32(number))
		return netip.AddrFrom4(raw)
	}
	raw := first.As16()
	low := binary.BigEndian.Uint64(raw[8:]) + number
	binary.BigEndian.PutUint64(raw[8:], low)
	return netip.AddrFrom16(raw)
}

// subnets finds the networks of a datacenter that have a CIDR.
func subnets(dc *Datacenter) map[string]*subnet {
	found := map[string]*subnet{}
	for _, network := range dc.AllNetworks() {
		if n := newSubnet(network); n != nil {
			found[network.Name] = n
		}
	}
	return found
}
