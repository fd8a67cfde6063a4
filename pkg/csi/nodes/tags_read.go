package nodes

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// tagReader reads one vCenter's tags in few calls: per reading one list of tags per category and one list of what they
// are attached to, plus one call for each category and tag whose name is not known. Names are asked for again every
// tagsFollowed, and when one that was known is not there.
type tagReader struct {
	learntAt   time.Time
	categories map[string]string // id → name
	names      map[string]string // tag id → name
}

// read returns what the tags of each category are attached to.
func (r *tagReader) read(ctx context.Context, client *vcenter.Client, categories []Category) (s *tagState, err error) {
	if r.categories == nil || time.Since(r.learntAt) > tagsFollowed {
		r.learntAt, r.categories, r.names = time.Now(), map[string]string{}, map[string]string{}
	}
	defer func() {
		if vcenter.NotFound(err) {
			r.categories = nil // one may have been deleted and made again
		}
	}()
	call := func(f func(context.Context, *tags.Manager) error) error {
		return client.DoREST(ctx, func(ctx context.Context, rc *rest.Client) error { return f(ctx, tags.NewManager(rc)) })
	}
	s = &tagState{of: make([]attached, len(categories)), absent: make([]bool, len(categories)), read: true}
	of := map[string][]int{} // tag id → categories, by their place; several keys may share one
	for i, c := range categories {
		s.of[i] = attached{}
		id, ok, err := r.category(call, c.Name)
		if err != nil {
			return nil, err
		}
		if s.absent[i] = !ok; !ok {
			continue // another category may be given the name at any time: it is looked for at every reading
		}
		ids, err := r.tags(call, id)
		if err != nil {
			return nil, fmt.Errorf("tags of category %q: %w", c.Name, err)
		}
		for _, id := range ids {
			of[id] = append(of[id], i)
		}
	}
	if len(of) == 0 {
		return s, nil
	}
	err = call(func(ctx context.Context, m *tags.Manager) error {
		objects, err := m.ListAttachedObjectsOnTags(ctx, slices.Sorted(maps.Keys(of)))
		for _, o := range objects {
			for _, i := range of[o.TagID] {
				for _, obj := range o.ObjectIDs {
					s.of[i].add(obj.Reference(), r.names[o.TagID])
				}
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list objects with tags: %w", err)
	}
	return s, nil
}

// add notes that an object carries a tag. The names on one object stay in order, so that several tags of one category
// always give the same answer.
func (a attached) add(r ref, name string) {
	names := a[r]
	if i, found := slices.BinarySearch(names, name); !found {
		a[r] = slices.Insert(names, i, name)
	}
}

type tagCall func(func(context.Context, *tags.Manager) error) error

// category finds a category by its name, which the API does not do.
func (r *tagReader) category(call tagCall, name string) (id string, ok bool, err error) {
	for id, n := range r.categories {
		if n == name {
			return id, true, nil
		}
	}
	var ids []string
	err = call(func(ctx context.Context, m *tags.Manager) (err error) {
		ids, err = m.ListCategories(ctx)
		return err
	})
	if err != nil {
		return "", false, fmt.Errorf("list tag categories: %w", err)
	}
	for _, id := range ids {
		if _, known := r.categories[id]; known {
			continue
		}
		err := call(func(ctx context.Context, m *tags.Manager) error {
			c, err := m.GetCategory(ctx, id)
			if err == nil {
				r.categories[id] = c.Name
			}
			return err
		})
		if err != nil && !vcenter.NotFound(err) {
			return "", false, fmt.Errorf("tag category %s: %w", id, err)
		}
		if r.categories[id] == name {
			return id, true, nil
		}
	}
	return "", false, nil
}

// tags lists the tags of a category and learns the names of those that are new.
func (r *tagReader) tags(call tagCall, category string) (ids []string, err error) {
	err = call(func(ctx context.Context, m *tags.Manager) (err error) {
		ids, err = m.ListTagsForCategory(ctx, category)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if _, known := r.names[id]; known {
			continue
		}
		err := call(func(ctx context.Context, m *tags.Manager) error {
			tag, err := m.GetTag(ctx, id)
			if err == nil {
				r.names[id] = tag.Name
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("tag %s: %w", id, err)
		}
	}
	return ids, nil
}
