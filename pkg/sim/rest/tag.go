package rest

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

func byOrder(a, b *tag) int { return cmp.Compare(a.order, b.order) }

// createTag adds a tag to its category; without an ID it gets one.
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

// listTags lists the IDs in the order of their making; with an entity, those that it uses.
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

// tagsOfCategory lists the IDs of the category's tags in the order of their making.
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

// tagUpdate is what an update changes: all that is not nil.
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

// deleted is a tag that is gone, and what it was attached to.
type deleted struct {
	label   string
	objects []vc.Ref
}

// deleteTag deletes the tag, wherever it is attached.
func (s *store) deleteTag(id string) (deleted, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tags[id]
	if t == nil {
		return deleted{}, missing(id)
	}
	return s.remove(t), nil
}

// remove is called with the lock held.
func (s *store) remove(t *tag) deleted {
	gone := deleted{label: t.label(), objects: sorted(t.objects)}
	for _, ref := range gone.objects {
		s.unlink(t, ref)
	}
	delete(s.tags, t.ID)
	delete(t.category.names, t.Name)
	return gone
}

// useTag notes that an entity uses the tag, or that it no longer does.
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

// find returns the tag of a name in a category of a name.
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
