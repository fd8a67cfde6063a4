package rest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// createCategory adds a category, with a new ID if it has none.
func (s *store) createCategory(c Category) (string, error) {
	c = c.clone()
	c.AssociableTypes = distinct(c.AssociableTypes)
	switch {
	case c.Name == "":
		return "", invalid("The name of a category cannot be empty")
	case c.Cardinality != Single && c.Cardinality != Multiple:
		return "", invalid("Invalid cardinality: %q", c.Cardinality)
	case c.ID == "":
		c.ID = CategoryPrefix + uuid.NewString() + ":GLOBAL"
	case !strings.HasPrefix(c.ID, CategoryPrefix):
		return "", invalid("Invalid category ID: %q", c.ID)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.names[c.Name] != nil {
		return "", duplicate("Category", c.Name)
	}
	if s.categories[c.ID] != nil {
		return "", duplicate("Category", c.ID)
	}
	made := &category{Category: c, order: s.next(), names: make(map[string]*tag)}
	s.categories[c.ID] = made
	s.names[c.Name] = made
	return c.ID, nil
}

func (s *store) category(id string) (Category, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	c := s.categories[id]
	if c == nil {
		return Category{}, missing(id)
	}
	return c.clone(), nil
}

// listCategories lists the IDs in the order of creation; with an entity, those that it uses.
func (s *store) listCategories(usedBy *string) []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	found := make([]*category, 0, len(s.categories))
	for _, c := range s.categories {
		if usedBy == nil || slices.Contains(c.UsedBy, *usedBy) {
			found = append(found, c)
		}
	}
	slices.SortFunc(found, func(a, b *category) int { return cmp.Compare(a.order, b.order) })
	ids := make([]string, len(found))
	for i, c := range found {
		ids[i] = c.ID
	}
	return ids
}

// categoryUpdate holds the changed fields; nil ones stay.
type categoryUpdate struct {
	Name            *string   `json:"name"`
	Description     *string   `json:"description"`
	Cardinality     *string   `json:"cardinality"`
	AssociableTypes *[]string `json:"associable_types"`
}

// updateCategory changes a category atomically. It can only allow more: more types of object, several tags instead of one.
func (s *store) updateCategory(id string, u categoryUpdate) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.categories[id]
	if c == nil {
		return missing(id)
	}
	after := c.Category
	if u.Name != nil {
		if after.Name = *u.Name; after.Name == "" {
			return invalid("The name of a category cannot be empty")
		}
		if other := s.names[after.Name]; other != nil && other != c {
			return duplicate("Category", after.Name)
		}
	}
	if u.Description != nil {
		after.Description = *u.Description
	}
	if u.Cardinality != nil {
		after.Cardinality = *u.Cardinality
		switch {
		case after.Cardinality != Single && after.Cardinality != Multiple:
			return invalid("Invalid cardinality: %q", after.Cardinality)
		case c.Cardinality == Multiple && after.Cardinality == Single && !s.lenient:
			return invalid("Cardinality of category %s cannot be changed from MULTIPLE to SINGLE", id)
		}
	}
	if u.AssociableTypes != nil {
		after.AssociableTypes = distinct(*u.AssociableTypes)
		if !s.lenient && !grown(c.AssociableTypes, after.AssociableTypes) {
			return invalid("Associable types of category %s can only be added to", id)
		}
	}
	delete(s.names, c.Name)
	c.Category = after
	s.names[c.Name] = c
	return nil
}

// grown reports whether all previously allowed types are still allowed. No types means any.
func grown(before, after []string) bool {
	if len(before) == 0 {
		return len(after) == 0
	}
	for _, t := range before {
		if !slices.Contains(after, t) {
			return false
		}
	}
	return true
}

// deleteCategory deletes the category with its tags and their associations.
func (s *store) deleteCategory(id string) (name string, gone []deleted, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.categories[id]
	if c == nil {
		return "", nil, missing(id)
	}
	tags := make([]*tag, 0, len(c.names))
	for _, t := range c.names {
		tags = append(tags, t)
	}
	slices.SortFunc(tags, byOrder)
	for _, t := range tags {
		gone = append(gone, s.remove(t))
	}
	delete(s.categories, id)
	delete(s.names, c.Name)
	return c.Name, gone, nil
}

// useCategory records whether an entity uses the category.
func (s *store) useCategory(id, entity string, uses bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.categories[id]
	if c == nil {
		return missing(id)
	}
	c.UsedBy = used(c.UsedBy, entity, uses)
	return nil
}

// used returns a new list of entities, with or without the given one.
func used(by []string, entity string, uses bool) []string {
	out := slices.DeleteFunc(slices.Clone(by), func(e string) bool { return e == entity })
	if uses {
		out = append(out, entity)
	}
	return out
}

// writable returns an error for a user who may not change categories and tags.
func (h *Handler) writable(user string) error {
	if !h.opts.MayWrite(user, h.root) {
		return forbidden()
	}
	return nil
}

func (h *Handler) categoryList(*call) (any, error) { return h.store.listCategories(nil), nil }

func (h *Handler) categoryCreate(c *call) (any, error) {
	var spec struct {
		Category
		ID string `json:"category_id"` // since vSphere 6.7
	}
	if err := c.spec("create_spec", &spec, "name", "description", "cardinality", "associable_types"); err != nil {
		return nil, err
	}
	if err := h.writable(c.user); err != nil {
		return nil, err
	}
	return h.store.createCategory(Category{
		ID:              spec.ID,
		Name:            spec.Name,
		Description:     spec.Description,
		Cardinality:     spec.Cardinality,
		AssociableTypes: spec.AssociableTypes,
	})
}

func (h *Handler) categoryGet(c *call) (any, error) { return h.store.category(c.id) }

func (h *Handler) categoryUpdate(c *call) (any, error) {
	var u categoryUpdate
	if err := c.spec("update_spec", &u); err != nil {
		return nil, err
	}
	if err := h.writable(c.user); err != nil {
		return nil, err
	}
	return nil, h.store.updateCategory(c.id, u)
}

func (h *Handler) categoryDelete(c *call) (any, error) {
	if err := h.writable(c.user); err != nil {
		return nil, err
	}
	name, tags, err := h.store.deleteCategory(c.id)
	if err == nil {
		h.goneCategory(c.user, name, tags)
	}
	return nil, err
}

func (h *Handler) categoryListUsed(c *call) (any, error) {
	var entity string
	if err := c.param("used_by_entity", &entity); err != nil {
		return nil, err
	}
	return h.store.listCategories(&entity), nil
}

func (h *Handler) categoryUse(uses bool) func(*call) (any, error) {
	return func(c *call) (any, error) { return nil, h.use(c, "category_id", uses, h.store.useCategory) }
}

// use records whether an entity uses a category or tag.
func (h *Handler) use(c *call, param string, uses bool, note func(id, entity string, uses bool) error) error {
	id, err := c.ident(param)
	if err != nil {
		return err
	}
	var entity string
	if err := c.param("used_by_entity", &entity); err != nil {
		return err
	}
	if err := h.writable(c.user); err != nil {
		return err
	}
	return note(id, entity, uses)
}

// categoryRevoke does nothing: categories have no permissions.
func (h *Handler) categoryRevoke(c *call) (any, error) {
	id, err := c.ident("category_id")
	if err != nil {
		return nil, err
	}
	if err := h.writable(c.user); err != nil {
		return nil, err
	}
	_, err = h.store.category(id)
	return nil, err
}

// SetCardinality sets the number of tags of the category that an object may have, to [Single] or [Multiple], and returns the
// previous value. A vCenter's API can only widen it; this also narrows it, and objects keep their tags.
func (h *Handler) SetCardinality(id, cardinality string) (was string, err error) {
	if cardinality != Single && cardinality != Multiple {
		return "", invalid("Invalid cardinality: %q", cardinality)
	}
	h.store.mu.Lock()
	defer h.store.mu.Unlock()
	c := h.store.categories[id]
	if c == nil {
		return "", missing(id)
	}
	was, c.Cardinality = c.Cardinality, cardinality
	return was, nil
}

// eligible returns the reason why a tag cannot be attached to an object, or nil. The caller holds the lock.
func (s *store) eligible(t *tag, ref vc.Ref) *ineligible {
	if s.lenient {
		return nil
	}
	c := t.category
	if inventory(ref) && len(c.AssociableTypes) > 0 && !slices.Contains(c.AssociableTypes, ref.Type) &&
		!slices.Contains(c.AssociableTypes, registered(ref).Type) {
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
