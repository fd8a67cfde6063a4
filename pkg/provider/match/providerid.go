package match

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrForeignProviderID says that a node belongs to another cloud provider. Nothing is concluded about such a node:
	// looked up as if it were ours it would be "not found", and deleted.
	ErrForeignProviderID = errors.New("providerID is not one of vsphere")
	// ErrInvalidProviderID says that a providerID is one of vSphere, and holds no UUID. Upstream's provider has given
	// nodes an empty one while a vCenter told no UUID (kubernetes/cloud-provider-vsphere#521). It cannot be changed: the
	// node has to be deleted and to register again.
	ErrInvalidProviderID = errors.New("providerID holds no uuid")
)

const idPrefix = "vsphere://"

// ProviderID returns the providerID of a VM: "vsphere://" and its lower-case BIOS UUID.
func ProviderID(u UUID) string { return idPrefix + u.String() }

// ParseProviderID returns the UUID in id, which may stand there alone. Blanks and case do not count. An error wraps
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
