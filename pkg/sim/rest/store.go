package rest

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

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

// plain is the reference without the vCenter's identifier, which some clients send along.
func plain(ref vc.Ref) vc.Ref { return vc.Ref{Type: ref.Type, Value: ref.Value} }

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
