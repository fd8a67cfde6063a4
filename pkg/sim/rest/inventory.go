package rest

import (
	"errors"
	"fmt"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// Category creates a category while the inventory is built. The caller chooses the identifier, which begins with
// [CategoryPrefix], or is empty for a new one. The cardinality is [Single] or [Multiple]; no types means any. It fails if the
// identifier or the name is in use.
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

// Tag creates a tag while the inventory is built. The caller chooses the identifier, which begins with [TagPrefix], or is empty
// for a new one. category is an identifier. It fails if the category is missing, or if the identifier or, in the category, the
// name is in use.
func (h *Handler) Tag(id, category, name, description string) error {
	_, err := h.store.createTag(Tag{ID: id, CategoryID: category, Name: name, Description: description})
	return err
}

// Attach attaches a tag while the inventory is built, with the usual checks but without an event.
func (h *Handler) Attach(tag string, ref vc.Ref) error {
	ref = plain(ref)
	if !h.exists(ref) {
		return fmt.Errorf("no %s %s", ref.Type, ref.Value)
	}
	_, err := h.store.attach(tag, ref)
	return err
}

// Find returns the ID of a tag by its category and name.
func (h *Handler) Find(category, name string) (id string, ok bool) {
	return h.store.find(category, name)
}

// Tags lists the IDs of the tags on an object.
func (h *Handler) Tags(ref vc.Ref) []string { return h.store.tagsOn(plain(ref)) }

// Snapshot returns all categories, tags and associations.
func (h *Handler) Snapshot() Snapshot { return h.store.snapshot() }

// Restore replaces all categories, tags and associations, without events. It changes nothing if the snapshot is inconsistent, or
// has tags on missing objects.
func (h *Handler) Restore(s Snapshot) error {
	for _, a := range s.Associations {
		if ref := plain(a.Object); !h.exists(ref) && ref.Type != disk {
			return fmt.Errorf("tag %s: no %s %s", a.TagID, ref.Type, ref.Value)
		}
	}
	return h.store.restore(s)
}

// disk is vcsim's type of first-class disks in associations.
const disk = "fcd"

// AttachedObjects lists the objects with a tag. This and the following methods implement vcsim's tag manager for SOAP calls;
// vcsim may hold locks of objects.
func (h *Handler) AttachedObjects(tagID string) ([]vc.Ref, types.BaseMethodFault) {
	refs, err := h.store.objectsWith(tagID)
	return refs, methodFault(err)
}

// AttachedTags lists the IDs of the tags on an object.
func (h *Handler) AttachedTags(ref vc.Ref) ([]string, types.BaseMethodFault) { return h.Tags(ref), nil }

// AttachTag attaches a tag. The object may not exist yet.
func (h *Handler) AttachTag(ref vc.Ref, tagID string) types.BaseMethodFault {
	ref = plain(ref)
	changed, err := h.store.attach(tagID, ref)
	if changed {
		h.changed("attached", "", tagID, ref, 0)
	}
	return methodFault(err)
}

// DetachTag detaches a tag.
func (h *Handler) DetachTag(ref vc.Ref, tagID string) types.BaseMethodFault {
	return methodFault(h.unlink("", tagID, plain(ref)))
}

// GetTagByCategoryAndName returns the ID of a tag.
func (h *Handler) GetTagByCategoryAndName(category, name string) (string, types.BaseMethodFault) {
	id, ok := h.store.find(category, name)
	if !ok {
		return "", new(types.NotFound)
	}
	return id, nil
}

// GetTagCategoryAndName returns the names of a tag's category and of the tag.
func (h *Handler) GetTagCategoryAndName(tagID string) (category, name string, fault types.BaseMethodFault) {
	category, name, ok := h.store.label(tagID)
	if !ok {
		return "", "", new(types.NotFound)
	}
	return category, name, nil
}

// methodFault converts an error to SOAP.
func methodFault(err error) types.BaseMethodFault {
	var f *fault
	switch {
	case err == nil:
		return nil
	case errors.As(err, &f) && f.kind == notFound:
		return new(types.NotFound)
	}
	return &types.InvalidArgument{InvalidProperty: "tag"}
}

// watch follows the registry: which objects exist, and their names, for events. vcsim calls it with the object locked, so it only
// calls the store.
type watch struct {
	registry *simulator.Registry
	store    *store

	mu    sync.RWMutex
	names map[vc.Ref]string
}

var _ simulator.RegisterObject = (*watch)(nil)

func newWatch(registry *simulator.Registry, s *store) *watch {
	w := &watch{registry: registry, store: s, names: make(map[vc.Ref]string)}
	registry.AddHandler(w)
	for _, e := range registry.All("") {
		w.put(e)
	}
	return w
}

func (w *watch) close() { w.registry.RemoveHandler(w) }

// Reference implements mo.Reference: the key in the registry.
func (w *watch) Reference() vc.Ref { return vc.Ref{Type: "SandboxTagging", Value: "SandboxTagging"} }

// PutObject implements simulator.RegisterObject.
func (w *watch) PutObject(_ *simulator.Context, obj mo.Reference) {
	if e, ok := obj.(mo.Entity); ok {
		w.put(e)
	}
}

func (w *watch) put(e mo.Entity) {
	ref, name := e.Reference(), e.Entity().Name
	if !inventory(ref) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.names[plain(ref)] = name
}

// UpdateObject implements simulator.RegisterObject.
func (w *watch) UpdateObject(_ *simulator.Context, obj mo.Reference, changes []types.PropertyChange) {
	for _, c := range changes {
		name, ok := c.Val.(string)
		if c.Name != "name" || !ok {
			continue
		}
		if ref := plain(obj.Reference()); inventory(ref) {
			w.mu.Lock()
			w.names[ref] = name
			w.mu.Unlock()
		}
	}
}

// RemoveObject implements simulator.RegisterObject: it removes the object's tags.
func (w *watch) RemoveObject(_ *simulator.Context, ref vc.Ref) {
	ref = plain(ref)
	w.mu.Lock()
	delete(w.names, ref)
	w.mu.Unlock()
	w.store.drop(ref) // afterward: attaching a tag checks the object again at its end
}

// has reports whether the object exists. The registry still has one that is being removed.
func (w *watch) has(ref vc.Ref) bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	_, ok := w.names[ref]
	return ok
}

func (w *watch) name(ref vc.Ref) string {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if name := w.names[ref]; name != "" {
		return name
	}
	return ref.Value
}
