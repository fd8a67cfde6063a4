package inventory

import (
	"context"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
)

// tagReader reads one vCenter's tags in few calls: per reading one list of tags per category and one batched list of
// attachments, plus one call per tag whose name is not known yet.
type tagReader struct {
	readings int
	category map[string]string // name → id
	names    map[string]string // tag id → name
}

// begin starts a reading. Every now and then it forgets what is remembered between readings.
func (r *tagReader) begin() {
	if r.readings%nameAge == 0 {
		r.category, r.names = map[string]string{}, map[string]string{}
	}
	r.readings++
}

// read returns what the tags of the named category are attached to. On an error, everything remembered is read anew
// next time: the category may have been deleted and made again.
func (r *tagReader) read(ctx context.Context, rc *rest.Client, category string) (_ attached, err error) {
	defer func() {
		if err != nil {
			r.readings = 0
		}
	}()
	m := tags.NewManager(rc)
	id, err := r.categoryID(ctx, m, category)
	if err != nil {
		return nil, err
	}
	ids, err := m.ListTagsForCategory(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("list tags of category %q: %w", category, err)
	}
	on := attached{}
	if len(ids) == 0 {
		return on, nil
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
	objects, err := m.ListAttachedObjectsOnTags(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("list objects with tags of category %q: %w", category, err)
	}
	for _, o := range objects {
		for _, ref := range o.ObjectIDs {
			ref, name := ref.Reference(), r.names[o.TagID]
			if name != "" && !slices.Contains(on[ref], name) {
				on[ref] = append(on[ref], name)
			}
		}
	}
	return on.sorted(), nil
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
