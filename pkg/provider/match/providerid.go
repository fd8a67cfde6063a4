package match

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrForeignProviderID reports that a node belongs to another cloud provider. Nothing is known about such a node: a lookup
	// would return "not found", and the node would be deleted.
	ErrForeignProviderID = errors.New("providerID is not one of vsphere")
	// ErrInvalidProviderID reports that a providerID is vSphere's but contains no UUID. Upstream's provider has given nodes an
	// empty one while a vCenter reported no UUID (kubernetes/cloud-provider-vsphere#521). It cannot be changed: the node must
	// be deleted and register again.
	ErrInvalidProviderID = errors.New("providerID holds no uuid")
)

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
