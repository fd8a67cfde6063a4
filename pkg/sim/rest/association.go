package rest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// eligible returns the reason why a tag cannot be attached to an object, or nil. The caller holds the lock.
func (s *store) eligible(t *tag, ref vc.Ref) *ineligible {
	if s.lenient {
		return nil
	}
	c := t.category
	if inventory(ref) && len(c.AssociableTypes) > 0 && !slices.Contains(c.AssociableTypes, ref.Type) {
		return &ineligible{id: msgAssociable, short: "Tagging associability violation", because: "an associability violation"}
	}
	if c.Cardinality == Single {
		for _, other := range s.objects[ref] {
			if other != t && other.category == c {
				return &ineligible{id: msgCardinality, short: "Tagging cardinality violation", because: "a cardinality violation"}
			}
		}
	}
	return nil
}

// ineligible is that reason, with vCenter's two messages.
type ineligible struct{ id, short, because string }

// Error returns the message of the call for a single tag and object (ansible-collections/community.vmware #1501).
func (e *ineligible) Error() string { return e.short }

// batch returns the message of the calls for several (govmomi #2211).
func (e *ineligible) batch(tag, object string) message {
	return message{
		Args:    []string{tag, object},
		Default: fmt.Sprintf("Tag %s is ineligible to attach to %s because of %s.", tag, object, e.because),
		ID:      e.id,
	}
}

// attach attaches the tag; changed is false if it already was. It fails with a fault or with [ineligible].
func (s *store) attach(id string, ref vc.Ref) (changed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tags[id]
	if t == nil {
		return false, missing(id)
	}
	if _, ok := t.objects[ref]; ok {
		return false, nil
	}
	if e := s.eligible(t, ref); e != nil {
		return false, e
	}
	t.objects[ref] = struct{}{}
	s.objects[ref] = append(s.objects[ref], t)
	return true, nil
}

// detach detaches the tag; changed is false if it was not attached.
func (s *store) detach(id string, ref vc.Ref) (changed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tags[id]
	if t == nil {
		return false, missing(id)
	}
	if _, ok := t.objects[ref]; !ok {
		return false, nil
	}
	s.unlink(t, ref)
	return true, nil
}

// unlink removes an association. The caller holds the lock.
func (s *store) unlink(t *tag, ref vc.Ref) {
	delete(t.objects, ref)
	left := slices.DeleteFunc(s.objects[ref], func(other *tag) bool { return other == t })
	if len(left) == 0 {
		delete(s.objects, ref)
		return
	}
	s.objects[ref] = left
}

// drop removes the associations of a removed object.
func (s *store) drop(ref vc.Ref) {
	s.mu.RLock()
	n := len(s.objects[ref])
	s.mu.RUnlock()
	if n == 0 {
		return // usually: tasks and views are removed often
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.objects[ref] {
		delete(t.objects, ref)
	}
	delete(s.objects, ref)
}

// tagsOn lists the IDs of the object's tags in the order of creation.
func (s *store) tagsOn(ref vc.Ref) []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.tagIDs(ref)
}

// tagIDs is tagsOn with the lock held.
func (s *store) tagIDs(ref vc.Ref) []string { return ids(slices.Clone(s.objects[ref])) }

// tagsOnAll does the same for many objects, consistently.
func (s *store) tagsOnAll(refs []vc.Ref) [][]string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := make([][]string, len(refs))
	for i, ref := range refs {
		out[i] = s.tagIDs(ref)
	}
	return out
}

// objectsWith lists the objects with the tag, by type and value.
func (s *store) objectsWith(id string) ([]vc.Ref, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	t := s.tags[id]
	if t == nil {
		return nil, missing(id)
	}
	return sorted(t.objects), nil
}

// attachable lists the tags that could be attached to the object, and are not, in the order of creation.
func (s *store) attachable(ref vc.Ref) []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	found := make([]*tag, 0, len(s.tags))
	for _, t := range s.tags {
		if _, attached := t.objects[ref]; !attached && s.eligible(t, ref) == nil {
			found = append(found, t)
		}
	}
	return ids(found)
}

func sorted(set map[vc.Ref]struct{}) []vc.Ref {
	refs := make([]vc.Ref, 0, len(set))
	for ref := range set {
		refs = append(refs, ref)
	}
	slices.SortFunc(refs, func(a, b vc.Ref) int {
		return cmp.Or(strings.Compare(a.Type, b.Type), strings.Compare(a.Value, b.Value))
	})
	return refs
}

// readable returns an error for an object that the user may not see: as in vCenter, the same as for a missing one (govmomi
// #2211).
func (h *Handler) readable(user string, ref vc.Ref) error {
	if !h.exists(ref) || !h.mayRead(user, ref) {
		return forbidden()
	}
	return nil
}

func (h *Handler) taggable(user string, ref vc.Ref) error {
	if err := h.readable(user, ref); err != nil {
		return err
	}
	if !h.mayWrite(user, ref) {
		return forbidden()
	}
	return nil
}

// link attaches a tag to an existing object.
func (h *Handler) link(user, id string, ref vc.Ref) error {
	changed, err := h.store.attach(id, ref)
	if !changed {
		return err
	}
	if !h.exists(ref) { // removed concurrently, perhaps before it had the tag
		h.store.drop(ref)
		return forbidden()
	}
	h.changed("attached", user, id, ref, 0)
	return nil
}

func (h *Handler) unlink(user, id string, ref vc.Ref) error {
	changed, err := h.store.detach(id, ref)
	if changed {
		h.changed("detached", user, id, ref, 0)
	}
	return err
}

// single attaches or detaches one tag and one object.
func (h *Handler) single(c *call, do func(user, id string, ref vc.Ref) error) (any, error) {
	id, err := c.ident("tag_id")
	if err != nil {
		return nil, err
	}
	ref, err := c.object()
	if err != nil {
		return nil, err
	}
	if _, err := h.store.tag(id); err != nil {
		return nil, err
	}
	if err := h.taggable(c.user, ref); err != nil {
		return nil, err
	}
	return nil, do(c.user, id, ref)
}

func (h *Handler) attach(c *call) (any, error) { return h.single(c, h.link) }
func (h *Handler) detach(c *call) (any, error) { return h.single(c, h.unlink) }

// batch is the answer of a call for several: failures do not stop the rest.
type batch struct {
	Success bool      `json:"success"`
	Errors  []message `json:"error_messages"`
}

func newBatch() *batch { return &batch{Success: true, Errors: []message{}} }

func (b *batch) add(err error, m ...message) {
	if err == nil {
		return
	}
	if len(m) == 0 {
		m = faultOf(err).messages
	}
	b.Success = false
	b.Errors = append(b.Errors, m...)
}

// step does one step of a batch.
func (h *Handler) step(b *batch, user, id string, ref vc.Ref, do func(user, id string, ref vc.Ref) error) {
	err := do(user, id, ref)
	if e, ok := errors.AsType[*ineligible](err); ok {
		b.add(err, e.batch(id, h.urn(ref)))
		return
	}
	b.add(err)
}

// urn returns the name of an object in messages.
func (h *Handler) urn(ref vc.Ref) string {
	return "urn:vmomi:" + ref.Type + ":" + ref.Value + ":" + h.instance
}

// manyTags handles a call for one object and many tags.
func (h *Handler) manyTags(c *call, do func(user, id string, ref vc.Ref) error) (any, error) {
	ref, err := c.object()
	if err != nil {
		return nil, err
	}
	var tags []string
	if err := c.param("tag_ids", &tags); err != nil {
		return nil, err
	}
	if err := h.taggable(c.user, ref); err != nil {
		return nil, err
	}
	b := newBatch()
	for _, id := range tags {
		h.step(b, c.user, id, ref, do)
	}
	return b, nil
}

func (h *Handler) attachMany(c *call) (any, error) { return h.manyTags(c, h.link) }
func (h *Handler) detachMany(c *call) (any, error) { return h.manyTags(c, h.unlink) }

// manyObjects handles a call for one tag and many objects.
func (h *Handler) manyObjects(c *call, do func(user, id string, ref vc.Ref) error) (any, error) {
	id, err := c.ident("tag_id")
	if err != nil {
		return nil, err
	}
	refs, err := c.objects()
	if err != nil {
		return nil, err
	}
	if _, err := h.store.tag(id); err != nil {
		return nil, err
	}
	b := newBatch()
	for _, ref := range refs {
		if err := h.taggable(c.user, ref); err != nil {
			b.add(err)
			continue
		}
		h.step(b, c.user, id, ref, do)
	}
	return b, nil
}

func (h *Handler) attachToMany(c *call) (any, error)   { return h.manyObjects(c, h.link) }
func (h *Handler) detachFromMany(c *call) (any, error) { return h.manyObjects(c, h.unlink) }
