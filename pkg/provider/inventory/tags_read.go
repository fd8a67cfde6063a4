package inventory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/vmware/govmomi/vapi/tags"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// nameAge is how many readings a tag's name is believed: names are read one by one, and rarely change.
const nameAge = 10

var errNoCategory = errors.New("does not exist")

// tagCall runs one call to the tagging API, with a deadline of its own.
type tagCall func(ctx context.Context, f func(context.Context, *tags.Manager) error) error

// tagReader reads one vCenter's tags in few calls: per reading one list of tags per category and one batched list of
// attachments, plus one call per tag whose name is not known yet.
type tagReader struct {
	readings   int
	categories map[string]string // id → name
	names      map[string]string // tag id → name
}

// read returns, for each of the named categories, what its tags are attached to. What was learnt is kept when a call
// fails, so that the next reading goes on from there, except when something is not there: a category may have been
// deleted and made again, and then everything is read anew.
func (r *tagReader) read(ctx context.Context, call tagCall, categories ...string) (_ []attached, err error) {
	if r.readings%nameAge == 0 {
		r.categories, r.names = map[string]string{}, map[string]string{}
	}
	r.readings++
	defer func() {
		if vcenter.NotFound(err) || errors.Is(err, errNoCategory) {
			r.readings = 0
		}
	}()
	result := make([]attached, len(categories))
	of := map[string][]int{} // tag id → categories, by their place; two labels may share one
	for i, category := range categories {
		result[i] = attached{}
		ids, err := r.tagIDs(ctx, call, category)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			of[id] = append(of[id], i)
		}
	}
	if len(of) == 0 {
		return result, nil
	}
	var objects []tags.AttachedObjects
	err = call(ctx, func(ctx context.Context, m *tags.Manager) (err error) {
		objects, err = m.ListAttachedObjectsOnTags(ctx, slices.Sorted(maps.Keys(of)))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list objects with tags: %w", err)
	}
	for _, o := range objects {
		for _, i := range of[o.TagID] {
			for _, ref := range o.ObjectIDs {
				result[i].add(ref.Reference(), r.names[o.TagID])
			}
		}
	}
	return result, nil
}

// tagIDs lists the tags of the named category and learns the names of those that are new.
func (r *tagReader) tagIDs(ctx context.Context, call tagCall, category string) (ids []string, err error) {
	id, err := r.categoryID(ctx, call, category)
	if err != nil {
		return nil, err
	}
	err = call(ctx, func(ctx context.Context, m *tags.Manager) (err error) {
		ids, err = m.ListTagsForCategory(ctx, id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list tags of category %q: %w", category, err)
	}
	for _, id := range ids {
		if _, ok := r.names[id]; ok {
			continue
		}
		err := call(ctx, func(ctx context.Context, m *tags.Manager) error {
			tag, err := m.GetTag(ctx, id)
			if err == nil {
				r.names[id] = tag.Name
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("tag %s of category %q: %w", id, category, err)
		}
	}
	return ids, nil
}

// categoryID finds a category by its name, which the API does not do.
func (r *tagReader) categoryID(ctx context.Context, call tagCall, name string) (string, error) {
	if id, ok := r.knownCategory(name); ok {
		return id, nil
	}
	var ids []string
	err := call(ctx, func(ctx context.Context, m *tags.Manager) (err error) {
		ids, err = m.ListCategories(ctx)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("list tag categories: %w", err)
	}
	for _, id := range ids {
		if _, ok := r.categories[id]; ok {
			continue
		}
		err := call(ctx, func(ctx context.Context, m *tags.Manager) error {
			c, err := m.GetCategory(ctx, id)
			if err == nil {
				r.categories[id] = c.Name
			}
			return err
		})
		if err != nil && !vcenter.NotFound(err) { // deleted since the list was made
			return "", fmt.Errorf("tag category %s: %w", id, err)
		}
	}
	if id, ok := r.knownCategory(name); ok {
		return id, nil
	}
	return "", fmt.Errorf("tag category %q %w", name, errNoCategory)
}

func (r *tagReader) knownCategory(name string) (id string, ok bool) {
	for id, n := range r.categories {
		if n == name {
			return id, true
		}
	}
	return "", false
}
