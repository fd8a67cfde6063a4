package topology

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
)

// parseAddress reads "10.0.0.5/16" or a bare address, which gets the length of the network that it is on, if it is in
// there, or else the customary /24 or /64.
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

// parseSubnet reads the range that a network's addresses come from.
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

// isSubnetOrBroadcast tells whether the IPv4 address is the first or last of its subnet, if that is one (RFC 3021).
func isSubnetOrBroadcast(p netip.Prefix) bool {
	if !p.Addr().Is4() || p.Bits() > 30 {
		return false
	}
	return p.Addr() == p.Masked().Addr() || !p.Contains(p.Addr().Next())
}

// parseMAC reads a hardware address and returns it in lower case with colons.
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

// parseUUID reads a UUID in its usual notation and returns it in lower case.
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
