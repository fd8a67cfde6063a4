package rest

import (
	"cmp"
	"fmt"
	"slices"
)

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
