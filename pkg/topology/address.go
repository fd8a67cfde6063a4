package topology

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
)

// parseAddress parses "10.0.0.5/16", or an address without prefix length, which gets that of the network on if it contains the
// address, or else /24 or /64.
func parseAddress(s string, on netip.Prefix) (netip.Prefix, error) {
	address, err := netip.ParseAddr(s)
	prefix := netip.PrefixFrom(address, 24)
	switch {
	case strings.Contains(s, "/"):
		if prefix, err = netip.ParsePrefix(s); err == nil {
			address = prefix.Addr()
		}
	case on.IsValid() && on.Contains(address):
		prefix = netip.PrefixFrom(address, on.Bits())
	case address.Is6():
		prefix = netip.PrefixFrom(address, 64)
	}
	switch {
	case err != nil:
		return prefix, fmt.Errorf("must be an IP address such as 10.0.0.5/16, not %s", strict.Shown(s))
	case address.Is4In6(), address.Zone() != "":
		return prefix, fmt.Errorf("must be a plain IPv4 or IPv6 address, not %s", strict.Shown(s))
	case address.IsUnspecified(), address.IsLoopback(), address.IsMulticast(), prefix.Bits() == 0:
		return prefix, fmt.Errorf("must be an address that a machine can have on a network, not %s", strict.Shown(s))
	case isSubnetOrBroadcast(prefix):
		return prefix, fmt.Errorf("%s is the network's or broadcast address of %s", strict.Shown(s), prefix.Masked())
	}
	return prefix, nil
}

// parseSubnet parses the range of a network's addresses.
func parseSubnet(s string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(s)
	address := prefix.Addr()
	switch {
	case err != nil || address.Is4In6():
		return prefix, fmt.Errorf("must be a network such as 10.20.0.0/24 or 2001:db8:20::/64, not %s", strict.Shown(s))
	case address != prefix.Masked().Addr():
		return prefix, fmt.Errorf("must be a network, with nothing behind its %d bits, not %s", prefix.Bits(), strict.Shown(s))
	case prefix.Bits() < 8, address.IsUnspecified(), address.IsLoopback(), address.IsMulticast():
		return prefix, fmt.Errorf("must be a network that machines can be on, not %s", strict.Shown(s))
	case address.BitLen()-prefix.Bits() < 2:
		return prefix, fmt.Errorf("%s has no addresses but the network's own and the gateway's", strict.Shown(s))
	}
	return prefix, nil
}

// isSubnetOrBroadcast reports whether the IPv4 address is the first or last of its subnet, if that is one (RFC 3021).
func isSubnetOrBroadcast(p netip.Prefix) bool {
	if !p.Addr().Is4() || p.Bits() > 30 {
		return false
	}
	return p.Addr() == p.Masked().Addr() || !p.Contains(p.Addr().Next())
}

// parseMAC parses a hardware address and returns it in lower case with colons.
func parseMAC(s string) (string, error) {
	mac, err := net.ParseMAC(s)
	if err != nil || len(mac) != 6 {
		return "", fmt.Errorf("must be a MAC address such as 00:50:56:01:02:03, not %s", strict.Shown(s))
	}
	if mac[0]&1 != 0 || mac.String() == "00:00:00:00:00:00" {
		return "", fmt.Errorf("must be the MAC address of one NIC, not %s", strict.Shown(s))
	}
	return mac.String(), nil
}

// parseUUID parses a UUID and returns it in lower case.
func parseUUID(s string) (string, error) {
	raw, err := hex.DecodeString(strings.ReplaceAll(s, "-", ""))
	if err != nil || len(raw) != 16 || formatUUID([16]byte(raw)) != strings.ToLower(s) {
		return "", fmt.Errorf("must be a UUID such as 42001f3a-5b1c-4d2e-8f60-0123456789ab, not %s", strict.Shown(s))
	}
	if [16]byte(raw) == [16]byte{} {
		return "", errors.New("must not be the nil UUID")
	}
	return strings.ToLower(s), nil
}

func formatUUID(u [16]byte) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

// subnet is a network whose NICs get addresses from its CIDR.
type subnet struct {
	prefix  netip.Prefix
	network string
	gateway netip.Addr
	// size is the number of available addresses: all but those of the network, the gateway and, for IPv4, broadcast.
	size uint64
	// needs counts the NICs of each VM entry that need an address, got those that have one.
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
		n.size = math.MaxInt64 // the lower half of the range suffices
	}
	return n
}

// gatewayOf returns the first address after the network's.
func gatewayOf(prefix netip.Prefix) netip.Addr { return prefix.Masked().Addr().Next() }

// address returns the nth available address.
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

// subnets returns the networks of a datacenter with a CIDR.
func subnets(dc *Datacenter) map[string]*subnet {
	found := map[string]*subnet{}
	for _, network := range dc.AllNetworks() {
		if n := newSubnet(network); n != nil {
			found[network.Name] = n
		}
	}
	return found
}

// Cluster is a compute cluster.
type Cluster struct {
	Name  string `json:"name"`
	Place `json:",inline"`
	Marks `json:",inline"`
	// Hosts holds at least one.
	Hosts []Host `json:"hosts"`
	// Pools are resource pools below the cluster's own, VApps vApps.
	Pools []Pool `json:"pools,omitempty"`
	VApps []VApp `json:"vapps,omitempty"`
	// HostGroups, VMGroups and Rules are the VM-host rules of the cluster and what they are about.
	HostGroups []HostGroup `json:"hostGroups,omitempty"`
	VMGroups   []VMGroup   `json:"vmGroups,omitempty"`
	Rules      []HostRule  `json:"rules,omitempty"`
	// VSAN is the configuration of vSAN in the cluster.
	VSAN VSANCluster `json:"vsan,omitzero"`
}

// VSANCluster is the configuration of vSAN in a compute cluster.
type VSANCluster struct {
	// FileService enables the file service, which makes volumes for several nodes at a time on the cluster's vSAN datastores.
	FileService bool `json:"fileService,omitempty"`
}

// Host is an ESXi host.
type Host struct {
	// Name is a DNS name, unique in its vCenter. In a group of replicas it may hold {n} (or {nn}, {nnn}: zero-padded),
	// the replica's number from 1; without one, the replicas get "-1", "-2" … appended.
	Name string `json:"name"`
	// Replicas makes that many hosts of one entry; zero in a resolved topology.
	Replicas int `json:"replicas,omitempty"`
	// Place may hold {n} too, so that every host of a group can be a zone; so may the names of tags.
	Place `json:",inline"`
	Marks `json:",inline"`
	// CPUs are cores (default 16), Memory defaults to 64Gi.
	CPUs   int32 `json:"cpus,omitempty"`
	Memory Bytes `json:"memory,omitempty"`
	// Pools are resource pools of a standalone host; a host in a cluster must not have any.
	Pools []Pool `json:"pools,omitempty"`
}

// Pool is a resource pool.
type Pool struct {
	Name  string `json:"name"`
	Marks `json:",inline"`
	Pools []Pool `json:"pools,omitempty"`
	VApps []VApp `json:"vapps,omitempty"`
}

// VApp is a vApp: a pool that is started and stopped as one.
type VApp struct {
	Name  string `json:"name"`
	Marks `json:",inline"`
}
