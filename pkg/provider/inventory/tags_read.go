package inventory

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
)

// nameAge is how many readings a tag's name is believed: names are read one by one, and rarely change.
const nameAge = 10

// tagReader reads one vCenter's tags in few calls: per reading one list of tags per category and one batched list of
// attachments, plus one call per tag whose name is not known yet.
type tagReader struct {
	readings int
	category map[string]string // name → id
	names    map[string]string // tag id → name
}

// read returns, for each of the named categories, what its tags are attached to. On an error, everything remembered is
// read anew next time: a category may have been deleted and made again.
func (r *tagReader) read(ctx context.Context, rc *rest.Client, categories ...string) (_ []attached, err error) {
	if r.readings%nameAge == 0 {
		r.category, r.names = map[string]string{}, map[string]string{}
	}
	r.readings++
	defer func() {
		if err != nil {
			r.readings = 0
		}
	}()
	m := tags.NewManager(rc)
	result := make([]attached, len(categories))
	of := map[string][]int{} // tag id → categories, by their place; two labels may share one
	for i, category := range categories {
		result[i] = attached{}
		ids, err := r.tagIDs(ctx, m, category)
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
	objects, err := m.ListAttachedObjectsOnTags(ctx, slices.Sorted(maps.Keys(of)))
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
func (r *tagReader) tagIDs(ctx context.Context, m *tags.Manager, category string) ([]string, error) {
	id, err := r.categoryID(ctx, m, category)
	if err != nil {
		return nil, err
	}
	ids, err := m.ListTagsForCategory(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("list tags of category %q: %w", category, err)
	}
	for _, id := range ids {
		if _, ok := r.names[id]; ok {
			continue
		}
		tag, err := m.GetTag(ctx, id)
		if err != nil {
			return nil, fmt.Errorf("tag %s of category %q: %w", id, category, err)
		}
		r.names[id] = tag.Name
	}
	return ids, nil
}

// categoryID finds a category by its name, which the API does not do.
func (r *tagReader) categoryID(ctx context.Context, m *tags.Manager, name string) (string, error) {
	if id := r.category[name]; id != "" {
		return id, nil
	}
	all, err := m.GetCategories(ctx)
	if err != nil {
		return "", fmt.Errorf("list tag categories: %w", err)
	}
	for _, c := range all {
		r.category[c.Name] = c.ID
	}
	if id := r.category[name]; id != "" {
		return id, nil
	}
	return "", fmt.Errorf("tag category %q does not exist", name)
}
