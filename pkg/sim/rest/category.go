package rest

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/uuid"
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
