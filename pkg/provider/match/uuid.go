package match

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// key is the same for both byte orders.
func (u UUID) key() string { return "uuid " + min(u.String(), u.Swapped().String()) }

const idPrefix = "vsphere://"

// ProviderID returns the providerID of a VM: "vsphere://" and its lower-case BIOS UUID.
func ProviderID(u UUID) string { return idPrefix + u.String() }

// ParseProviderID returns the UUID in id, which may lack the prefix. It ignores spaces and case. Its error wraps
// [ErrForeignProviderID] or [ErrInvalidProviderID].
func ParseProviderID(id string) (UUID, error) {
	text := strings.TrimSpace(id)
	ours := len(text) >= len(idPrefix) && strings.EqualFold(text[:len(idPrefix)], idPrefix)
	if ours {
		text = text[len(idPrefix):]
	}
	u, err := ParseUUID(text)
	switch {
	case err == nil:
		return u, nil
	case !ours:
		return u, fmt.Errorf("%w: %q", ErrForeignProviderID, id)
	}
	return u, fmt.Errorf("%w: %q: %w", ErrInvalidProviderID, id, err)
}

// UUID is the BIOS UUID in a VM's configuration. The zero value is not a UUID.
type UUID [16]byte

// ParseUUID parses the 8-4-4-4-12 form in any case; surrounding spaces are ignored.
func ParseUUID(s string) (UUID, error) {
	var u UUID
	text := strings.TrimSpace(s)
	if len(text) != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return u, fmt.Errorf("uuid %q: not of the form 8-4-4-4-12", s)
	}
	digits := text[:8] + text[9:13] + text[14:18] + text[19:23] + text[24:]
	if _, err := hex.Decode(u[:], []byte(digits)); err != nil {
		return UUID{}, fmt.Errorf("uuid %q: %w", s, err)
	}
	if u == (UUID{}) {
		return u, fmt.Errorf("uuid %q: all zero", s)
	}
	return u, nil
}

// String returns the lower-case 8-4-4-4-12 form.
func (u UUID) String() string {
	h := hex.EncodeToString(u[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// Swapped returns u with the bytes of its first three groups reversed. A guest reads its BIOS UUID in one order or the
// other, depending on the version of its virtual hardware (kubernetes/kubernetes#58927), so a node's system UUID may be in
// either.
func (u UUID) Swapped() UUID {
	u[0], u[1], u[2], u[3] = u[3], u[2], u[1], u[0]
	u[4], u[5] = u[5], u[4]
	u[6], u[7] = u[7], u[6]
	return u
}

// Equal reports whether u and other are the same UUID in either byte order.
func (u UUID) Equal(other UUID) bool { return u == other || u == other.Swapped() }
