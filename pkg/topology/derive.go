package topology

import (
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"io"
	"net/netip"
	"strings"
)

// UUID derives a stable UUID for an object of the topology from its seed: the same for the same seed, kind and path,
// and different otherwise. Kind tells apart the several UUIDs of one object ("bios", "instance"); path leads to the
// object from its vCenter's name down. The result is a name-based UUID (version 5 of RFC 9562) in lower case.
//
// Load fills in the UUIDs that the format has fields for; the function is exported for those it has not, such as a
// host's.
func (t *Topology) UUID(kind string, path ...string) string {
	sum := t.digest(kind, path...)
	sum[6] = sum[6]&0x0f | 0x50
	sum[8] = sum[8]&0x3f | 0x80
	return formatUUID([16]byte(sum[:16]))
}

// digest is what every identity is cut from. SHA-1 because version 5 says so; nothing here is a secret.
func (t *Topology) digest(kind string, path ...string) [sha1.Size]byte {
	// No part of a path holds a NUL, so different paths never read the same.
	h := sha1.New()
	_, _ = io.WriteString(h, APIVersion+"\x00"+t.Spec.Seed+"\x00"+kind+"\x00"+strings.Join(path, "\x00"))
	return [sha1.Size]byte(h.Sum(nil))
}

// The range of MAC addresses that VMware leaves to its users, and of IPv4 addresses that never meet real ones
// (RFC 2544).
const (
	macPrefix    = "00:50:56"
	macs         = 0x40 << 16
	firstAddress = 198<<24 | 18<<16
	derivedBits  = 15
	addresses    = 1 << (32 - derivedBits)
)

// derivedMAC is the nth MAC address of the range.
func derivedMAC(n uint64) string {
	return fmt.Sprintf("%s:%02x:%02x:%02x", macPrefix, byte(n>>16), byte(n>>8), byte(n))
}

// derivedAddress is the nth IPv4 address of the range, and whether a machine should have it: those ending in 0, 1 and
// 255 look like networks, gateways and broadcasts to people and to programs that assume /24.
func derivedAddress(n uint64) (address netip.Addr, fit bool) {
	var raw [4]byte
	binary.BigEndian.PutUint32(raw[:], firstAddress+uint32(n))
	return netip.AddrFrom4(raw), raw[3] > 1 && raw[3] < 255
}

// derivedNumber is the number of an address in the range, if it is in it.
func derivedNumber(address netip.Addr) (n uint32, ok bool) {
	if !address.Is4() {
		return 0, false
	}
	raw := address.As4()
	n = binary.BigEndian.Uint32(raw[:]) - firstAddress
	return n, n < addresses
}

// probe walks a range of the given size from start until take accepts a number, and reports whether one did. Two names
// that fall on the same number are thus told apart, and always in the same way.
func probe(start, size uint64, take func(uint64) bool) bool {
	for i := range size {
		if take((start + i) % size) {
			return true
		}
	}
	return false
}
