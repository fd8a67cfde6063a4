package provider

import (
	"errors"
	"fmt"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
)

// ErrForeignProviderID says that a node belongs to another cloud provider. Nothing is concluded about such a node:
// looked up as if it were ours it would be "not found", and deleted.
var ErrForeignProviderID = errors.New("providerID is not one of vsphere")

const idPrefix = Name + "://"

// providerID returns the providerID of a VM: "vsphere://" and its lower-case BIOS UUID.
func providerID(u inventory.UUID) string { return idPrefix + u.String() }

// parseProviderID returns the UUID in id. Blanks and case do not count, in either part.
func parseProviderID(id string) (inventory.UUID, error) {
	text := strings.TrimSpace(id)
	if len(text) < len(idPrefix) || !strings.EqualFold(text[:len(idPrefix)], idPrefix) {
		return inventory.UUID{}, fmt.Errorf("%w: %q", ErrForeignProviderID, id)
	}
	u, err := inventory.ParseUUID(text[len(idPrefix):])
	if err != nil {
		return u, fmt.Errorf("providerID %q: %w", id, err)
	}
	return u, nil
}
