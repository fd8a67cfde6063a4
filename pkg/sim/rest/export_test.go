package rest

import (
	"maps"
	"slices"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// Association is a tag on an object.
type Association struct {
	TagID  string
	Object vc.Ref
}

// Snapshot holds all tags of a vCenter.
type Snapshot struct {
	Categories   []Category
	Associations []Association
}

// Snapshot returns the categories and associations, associations in the order of tags, then by type and value of the object.
func (h *Handler) Snapshot() (out Snapshot) {
	h.store.mu.RLock()
	defer h.store.mu.RUnlock()
	for _, c := range h.store.categories {
		out.Categories = append(out.Categories, c.clone())
	}
	for _, t := range slices.SortedFunc(maps.Values(h.store.tags), byOrder) {
		for _, ref := range sorted(t.objects) {
			out.Associations = append(out.Associations, Association{TagID: t.ID, Object: ref})
		}
	}
	return out
}
