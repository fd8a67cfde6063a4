package rest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

func byOrder(a, b *tag) int { return cmp.Compare(a.order, b.order) }

// createTag adds a tag to its category, with a new ID if it has none.
func (s *store) createTag(t Tag) (string, error) {
	t = t.clone()
	switch {
	case t.Name == "":
		return "", invalid("The name of a tag cannot be empty")
	case t.ID == "":
		t.ID = TagPrefix + uuid.NewString() + ":GLOBAL"
	case !strings.HasPrefix(t.ID, TagPrefix):
		return "", invalid("Invalid tag ID: %q", t.ID)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.categories[t.CategoryID]
	switch {
	case c == nil:
		return "", missing(t.CategoryID)
	case c.names[t.Name] != nil:
		return "", duplicate("Tag", t.Name)
	case s.tags[t.ID] != nil:
		return "", duplicate("Tag", t.ID)
	}
	made := &tag{Tag: t, order: s.next(), category: c, objects: make(map[vc.Ref]struct{})}
	s.tags[t.ID] = made
	c.names[t.Name] = made
	return t.ID, nil
}

func (s *store) tag(id string) (Tag, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	t := s.tags[id]
	if t == nil {
		return Tag{}, missing(id)
	}
	return t.clone(), nil
}

// listTags lists the IDs in the order of creation; with an entity, those that it uses.
func (s *store) listTags(usedBy *string) []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	found := make([]*tag, 0, len(s.tags))
	for _, t := range s.tags {
		if usedBy == nil || slices.Contains(t.UsedBy, *usedBy) {
			found = append(found, t)
		}
	}
	return ids(found)
}

// tagsOfCategory lists the IDs of the category's tags in the order of creation.
func (s *store) tagsOfCategory(id string) ([]string, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	c := s.categories[id]
	if c == nil {
		return nil, missing(id)
	}
	found := make([]*tag, 0, len(c.names))
	for _, t := range c.names {
		found = append(found, t)
	}
	return ids(found), nil
}

// ids sorts the tags and lists their IDs.
func ids(tags []*tag) []string {
	slices.SortFunc(tags, byOrder)
	out := make([]string, len(tags))
	for i, t := range tags {
		out[i] = t.ID
	}
	return out
}

// tagUpdate holds the changed fields; nil ones stay.
type tagUpdate struct {
	Name        *string `json:"name"`
	Description *string `json:"description"`
}

func (s *store) updateTag(id string, u tagUpdate) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tags[id]
	if t == nil {
		return missing(id)
	}
	if u.Name != nil {
		if *u.Name == "" {
			return invalid("The name of a tag cannot be empty")
		}
		if other := t.category.names[*u.Name]; other != nil && other != t {
			return duplicate("Tag", *u.Name)
		}
		delete(t.category.names, t.Name)
		t.Name = *u.Name
		t.category.names[t.Name] = t
	}
	if u.Description != nil {
		t.Description = *u.Description
	}
	return nil
}

// deleted is a deleted tag with its objects.
type deleted struct {
	label   string
	objects []vc.Ref
}

// deleteTag deletes the tag with its associations.
func (s *store) deleteTag(id string) (deleted, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tags[id]
	if t == nil {
		return deleted{}, missing(id)
	}
	return s.remove(t), nil
}

// remove removes a tag. The caller holds the lock.
func (s *store) remove(t *tag) deleted {
	gone := deleted{label: t.label(), objects: sorted(t.objects)}
	for _, ref := range gone.objects {
		s.unlink(t, ref)
	}
	delete(s.tags, t.ID)
	delete(t.category.names, t.Name)
	return gone
}

// useTag records whether an entity uses the tag.
func (s *store) useTag(id, entity string, uses bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tags[id]
	if t == nil {
		return missing(id)
	}
	t.UsedBy = used(t.UsedBy, entity, uses)
	return nil
}

// find returns the tag with a name in a category.
func (s *store) find(category, name string) (string, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	c := s.names[category]
	if c == nil || c.names[name] == nil {
		return "", false
	}
	return c.names[name].ID, true
}

// label returns the names of a tag and its category.
func (s *store) label(id string) (category, name string, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	t := s.tags[id]
	if t == nil {
		return "", "", false
	}
	return t.category.Name, t.Name, true
}

func (h *Handler) tagList(*call) (any, error) { return h.store.listTags(nil), nil }

func (h *Handler) tagCreate(c *call) (any, error) {
	var spec struct {
		Tag
		ID string `json:"tag_id"` // since vSphere 6.7
	}
	if err := c.spec("create_spec", &spec, "name", "description", "category_id"); err != nil {
		return nil, err
	}
	if err := h.writable(c.user); err != nil {
		return nil, err
	}
	return h.store.createTag(Tag{
		ID:          spec.ID,
		CategoryID:  spec.CategoryID,
		Name:        spec.Name,
		Description: spec.Description,
	})
}

func (h *Handler) tagGet(c *call) (any, error) { return h.store.tag(c.id) }

func (h *Handler) tagUpdate(c *call) (any, error) {
	var u tagUpdate
	if err := c.spec("update_spec", &u); err != nil {
		return nil, err
	}
	if err := h.writable(c.user); err != nil {
		return nil, err
	}
	return nil, h.store.updateTag(c.id, u)
}

func (h *Handler) tagDelete(c *call) (any, error) {
	if err := h.writable(c.user); err != nil {
		return nil, err
	}
	d, err := h.store.deleteTag(c.id)
	if err == nil {
		h.gone(c.user, d, 0)
	}
	return nil, err
}

func (h *Handler) tagListUsed(c *call) (any, error) {
	var entity string
	if err := c.param("used_by_entity", &entity); err != nil {
		return nil, err
	}
	return h.store.listTags(&entity), nil
}

func (h *Handler) tagListForCategory(c *call) (any, error) {
	id, err := c.ident("category_id")
	if err != nil {
		return nil, err
	}
	return h.store.tagsOfCategory(id)
}

func (h *Handler) tagUse(uses bool) func(*call) (any, error) {
	return func(c *call) (any, error) { return nil, h.use(c, "tag_id", uses, h.store.useTag) }
}

// tagRevoke does nothing: tags have no permissions.
func (h *Handler) tagRevoke(c *call) (any, error) {
	id, err := c.ident("tag_id")
	if err != nil {
		return nil, err
	}
	if err := h.writable(c.user); err != nil {
		return nil, err
	}
	_, err = h.store.tag(id)
	return nil, err
}

// Cardinalities of a [Category], as on the wire.
const (
	Single   = "SINGLE"   // an object may have one of its tags
	Multiple = "MULTIPLE" // an object may have several
)

// Prefixes of the identifiers of categories and tags, before any text; vCenter's is a UUID and ":GLOBAL".
const (
	CategoryPrefix = "urn:vmomi:InventoryServiceCategory:"
	TagPrefix      = "urn:vmomi:InventoryServiceTag:"
)

// Category is a tag category, as on the wire.
type Category struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	// Cardinality is [Single] or [Multiple].
	Cardinality string `json:"cardinality"`
	// AssociableTypes are the types of object that may have its tags; empty means any.
	AssociableTypes []string `json:"associable_types"`
	UsedBy          []string `json:"used_by"`
}

// Tag is a tag, as on the wire.
type Tag struct {
	ID          string   `json:"id"`
	CategoryID  string   `json:"category_id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	UsedBy      []string `json:"used_by"`
}

// Association is a tag on an object.
type Association struct {
	TagID  string `json:"tag_id"`
	Object vc.Ref `json:"object"`
}

// Snapshot holds all tags of a vCenter, for saving. Categories and tags are in the order of creation, associations in that of
// tags, then by type and value of the object.
type Snapshot struct {
	Categories   []Category    `json:"categories"`
	Tags         []Tag         `json:"tags"`
	Associations []Association `json:"associations"`
}

// clone copies the lists, which answers encode without locks; they are never nil, which matters in JSON.
func (c Category) clone() Category {
	c.AssociableTypes = list(c.AssociableTypes)
	c.UsedBy = list(c.UsedBy)
	return c
}

func (t Tag) clone() Tag {
	t.UsedBy = list(t.UsedBy)
	return t
}

func list(s []string) []string { return append(make([]string, 0, len(s)), s...) }

// distinct returns the list without repetitions, in order.
func distinct(s []string) []string {
	out := make([]string, 0, len(s))
	for _, v := range s {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// store is the tags of one vCenter with what they are attached to. Its lock is a leaf: nothing is called with it held, so
// it may be used under the locks of vcsim's objects.
type store struct {
	lenient bool // nothing is checked, as in vcsim

	mu         sync.RWMutex
	made       uint64               // orders categories and tags
	categories map[string]*category // by ID
	names      map[string]*category
	tags       map[string]*tag // by ID
	objects    map[vc.Ref][]*tag
}

type category struct {
	Category
	order uint64
	names map[string]*tag
}

type tag struct {
	Tag
	order    uint64
	category *category
	objects  map[vc.Ref]struct{}
}

// label names the tag for people.
func (t *tag) label() string { return t.category.Name + "/" + t.Name }

func newStore(lenient bool) *store {
	s := &store{lenient: lenient}
	s.clear()
	return s
}

func (s *store) clear() {
	s.categories = make(map[string]*category)
	s.names = make(map[string]*category)
	s.tags = make(map[string]*tag)
	s.objects = make(map[vc.Ref][]*tag)
}

func (s *store) next() uint64 {
	s.made++
	return s.made
}

// The type of a vCenter's distributed switches, and of vcsim's: see [dialect.InnerSwitches].
const (
	outerSwitch = "VmwareDistributedVirtualSwitch"
	innerSwitch = "DistributedVirtualSwitch"
)

// plain is the reference without the vCenter's identifier, which some clients send along, and with the type that it has on the
// wire.
func plain(ref vc.Ref) vc.Ref {
	if ref.Type == innerSwitch {
		ref.Type = outerSwitch
	}
	return vc.Ref{Type: ref.Type, Value: ref.Value}
}

// registered is the reference with vcsim's type.
func registered(ref vc.Ref) vc.Ref {
	if ref.Type == outerSwitch {
		ref.Type = innerSwitch
	}
	return ref
}

func (s *store) snapshot() Snapshot {
	s.mu.RLock()
	defer s.mu.RUnlock()
	categories := make([]*category, 0, len(s.categories))
	for _, c := range s.categories {
		categories = append(categories, c)
	}
	slices.SortFunc(categories, func(a, b *category) int { return cmp.Compare(a.order, b.order) })
	tags := make([]*tag, 0, len(s.tags))
	for _, t := range s.tags {
		tags = append(tags, t)
	}
	slices.SortFunc(tags, byOrder)

	var out Snapshot
	for _, c := range categories {
		out.Categories = append(out.Categories, c.clone())
	}
	for _, t := range tags {
		out.Tags = append(out.Tags, t.clone())
		for _, ref := range sorted(t.objects) {
			out.Associations = append(out.Associations, Association{TagID: t.ID, Object: ref})
		}
	}
	return out
}

// restore replaces everything, or nothing when the snapshot does not hold together.
func (s *store) restore(in Snapshot) error {
	fresh := newStore(s.lenient)
	for _, c := range in.Categories {
		if _, err := fresh.createCategory(c); err != nil {
			return fmt.Errorf("category %q: %w", c.Name, err)
		}
	}
	for _, t := range in.Tags {
		if _, err := fresh.createTag(t); err != nil {
			return fmt.Errorf("tag %q: %w", t.Name, err)
		}
	}
	for _, a := range in.Associations {
		if _, err := fresh.attach(a.TagID, plain(a.Object)); err != nil {
			return fmt.Errorf("tag %s on %s: %w", a.TagID, a.Object.Value, err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made, s.categories, s.names, s.tags, s.objects = fresh.made, fresh.categories, fresh.names, fresh.tags, fresh.objects
	return nil
}
