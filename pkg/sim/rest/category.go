package rest

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// createCategory adds a category; without an ID it gets one.
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

// listCategories lists the IDs in the order of their making; with an entity, those that it uses.
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

// categoryUpdate is what an update changes: all that is not nil.
type categoryUpdate struct {
	Name            *string   `json:"name"`
	Description     *string   `json:"description"`
	Cardinality     *string   `json:"cardinality"`
	AssociableTypes *[]string `json:"associable_types"`
}

// updateCategory changes a category as a whole or not at all. What it allows can only grow: more types of object, several
// tags in place of one.
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

// grown tells whether all types of object that were allowed still are. No types at all means any.
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

// deleteCategory deletes the category with its tags, wherever they are attached.
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

// useCategory notes that an entity uses the category, or that it no longer does.
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

// used is a new list of entities, with or without the given one.
func used(by []string, entity string, uses bool) []string {
	out := slices.DeleteFunc(slices.Clone(by), func(e string) bool { return e == entity })
	if uses {
		out = append(out, entity)
	}
	return out
}
