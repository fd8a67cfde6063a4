package inventory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/vmware/govmomi/vapi/tags"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// errNoCategory reports that no category has a configured name. The vCenter has answered, so there is no reason to retry
// soon.
var errNoCategory = errors.New("does not exist")

// tagCall runs one call to the tagging API with a separate deadline.
type tagCall func(ctx context.Context, f func(context.Context, *tags.Manager) error) error

// tagReader reads one vCenter's tags with few calls: per read one list of tags per category and one batched list of
// attachments, plus one call per tag with an unknown name.
type tagReader struct {
	age        time.Duration     // how long names are cached; 5 min when zero
	learntAt   time.Time         // when the cache was last cleared
	categories map[string]string // id → name
	names      map[string]string // tag id → name
	stale      map[string]bool   // ids of categories whose name must be read again
}

// read returns the objects that the tags of each named category are attached to. If a call fails, the cached names stay, so
// that the next read continues from there. If an object does not exist, all categories are read again the next time, because
// the category may have been deleted and created again. The same applies if no category has the name: no event reports when
// a category gets it, and nodes wait for it.
func (r *tagReader) read(ctx context.Context, call tagCall, categories ...string) (_ []attached, err error) {
	r.forget()
	defer func() {
		if vcenter.NotFound(err) || errors.Is(err, errNoCategory) {
			r.categories = nil
		}
	}()
	result := make([]attached, len(categories))
	of := map[string][]int{} // tag id → indexes of categories; two labels may share one
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

// forget clears the cache when it is old. Of the categories, which may be many, only the known ones are read again.
func (r *tagReader) forget() {
	if r.categories != nil && time.Since(r.learntAt) < cmp.Or(r.age, refreshFollowed) {
		return
	}
	r.learntAt, r.names = time.Now(), map[string]string{}
	if r.categories == nil {
		r.categories = map[string]string{}
	}
	r.stale = map[string]bool{}
	for id := range r.categories {
		r.stale[id] = true
	}
}

// tagIDs lists the tags of the named category and caches their names.
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

// categoryID finds a category by name, which the API cannot do.
func (r *tagReader) categoryID(ctx context.Context, call tagCall, name string) (string, error) {
	if id, ok := r.knownCategory(name); ok {
		if !r.stale[id] {
			return id, nil
		}
		if err := r.learnCategory(ctx, call, id); err != nil {
			return "", err
		}
		if r.categories[id] == name {
			return id, nil
		}
	}
	var ids []string
	err := call(ctx, func(ctx context.Context, m *tags.Manager) (err error) {
		ids, err = m.ListCategories(ctx)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("list tag categories: %w", err)
	}
	maps.DeleteFunc(r.categories, func(id, _ string) bool { return !slices.Contains(ids, id) })
	for _, id := range ids {
		if _, ok := r.categories[id]; ok && !r.stale[id] {
			continue
		}
		if err := r.learnCategory(ctx, call, id); err != nil {
			return "", err
		}
	}
	if id, ok := r.knownCategory(name); ok && !r.stale[id] {
		return id, nil
	}
	return "", fmt.Errorf("tag category %q %w", name, errNoCategory)
}

// learnCategory reads the name of a category, unless it has been deleted.
func (r *tagReader) learnCategory(ctx context.Context, call tagCall, id string) error {
	err := call(ctx, func(ctx context.Context, m *tags.Manager) error {
		c, err := m.GetCategory(ctx, id)
		if err == nil {
			r.categories[id] = c.Name
		}
		return err
	})
	if vcenter.NotFound(err) {
		delete(r.categories, id)
		err = nil
	}
	if err != nil {
		return fmt.Errorf("tag category %s: %w", id, err)
	}
	delete(r.stale, id)
	return nil
}

func (r *tagReader) knownCategory(name string) (id string, ok bool) {
	for id, n := range r.categories {
		if n == name {
			return id, true
		}
	}
	return "", false
}
