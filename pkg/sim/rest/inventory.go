package rest

import (
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// Category makes a category for whoever builds the inventory, which chooses the identifier: it begins with
// [CategoryPrefix], or is empty for one of ours. The cardinality is [Single] or [Multiple]; no types means any. It fails
// if the identifier or the name is taken.
func (h *Handler) Category(id, name, description, cardinality string, types []string) error {
	_, err := h.store.createCategory(Category{
		ID:              id,
		Name:            name,
		Description:     description,
		Cardinality:     cardinality,
		AssociableTypes: types,
	})
	return err
}

// Tag makes a tag for whoever builds the inventory, which chooses the identifier: it begins with [TagPrefix], or is empty
// for one of ours. The category is named by its identifier. It fails if the category is not there, or the identifier or,
// in the category, the name is taken.
func (h *Handler) Tag(id, category, name, description string) error {
	_, err := h.store.createTag(Tag{ID: id, CategoryID: category, Name: name, Description: description})
	return err
}

// Attach attaches a tag for whoever builds the inventory, under the rules for everybody, but without an event.
func (h *Handler) Attach(tag string, ref vc.Ref) error {
	ref = plain(ref)
	if !h.exists(ref) {
		return fmt.Errorf("no %s %s", ref.Type, ref.Value)
	}
	_, err := h.store.attach(tag, ref)
	return err
}

// Find returns the ID of a tag by the names of its category and itself.
func (h *Handler) Find(category, name string) (id string, ok bool) {
	return h.store.find(category, name)
}

// Tags lists the IDs of the tags on an object.
func (h *Handler) Tags(ref vc.Ref) []string { return h.store.tagsOn(plain(ref)) }

// Snapshot returns all categories, tags and associations.
func (h *Handler) Snapshot() Snapshot { return h.store.snapshot() }

// Restore replaces all categories, tags and associations, silently. It changes nothing when the snapshot does not hold
// together, or has tags on objects that are not there.
func (h *Handler) Restore(s Snapshot) error {
	for _, a := range s.Associations {
		if ref := plain(a.Object); !h.exists(ref) && ref.Type != disk {
			return fmt.Errorf("tag %s: no %s %s", a.TagID, ref.Type, ref.Value)
		}
	}
	return h.store.restore(s)
}
