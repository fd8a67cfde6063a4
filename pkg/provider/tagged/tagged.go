// Package tagged reads which objects of a vCenter have which tags, with few calls.
//
// Floor 1: it knows nothing of nodes and volumes.
package tagged

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// Objects maps an object to the names of its tags of one category, in order.
type Objects map[types.ManagedObjectReference][]string

// Add records a tag of an object. The names of one object stay in order, so that several tags of one category always give
// the same result.
func (o Objects) Add(ref types.ManagedObjectReference, name string) {
	names := o[ref]
	if i, found := slices.BinarySearch(names, name); !found {
		o[ref] = slices.Insert(names, i, name)
	}
}

// Call runs one call to the tagging API with a separate deadline.
type Call func(ctx context.Context, f func(context.Context, *tags.Manager) error) error

// DefaultAge is how long a [Reader] caches names. Names are read one by one, and rarely change.
const DefaultAge = 5 * time.Minute

// Reader reads one vCenter's tags: per read one list of tags per category and one batched list of attachments, plus one call for
// each category and tag with an unknown name. The zero value is ready. A Reader must not be used concurrently.
type Reader struct {
	// Age is how long names are cached. Default: [DefaultAge].
	Age time.Duration

	learntAt   time.Time         // when the cache was last cleared
	categories map[string]string // id → name
	names      map[string]string // tag id → name
	stale      map[string]bool   // ids of categories whose name must be read again
}

// Read returns the objects that the tags of each named category are attached to; nil for a category that does not exist. The
// names of all [Reader.Categories] have just been read then.
//
// If a call fails, the cached names stay, so that the next read continues from there. If an object does not exist, the Reader
// forgets all names, because a category may have been deleted and created again.
func (r *Reader) Read(ctx context.Context, call Call, categories ...string) (_ []Objects, err error) {
	r.expire()
	defer func() {
		if vcenter.NotFound(err) {
			r.Forget()
		}
	}()
	result := make([]Objects, len(categories))
	of := map[string][]int{} // tag id → indexes of categories; two labels may share one
	for i, category := range categories {
		id, err := r.categoryID(ctx, call, category)
		if err != nil {
			return nil, err
		}
		if id == "" {
			continue
		}
		result[i] = Objects{}
		ids, err := r.tagIDs(ctx, call, category, id)
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
				result[i].Add(ref.Reference(), r.names[o.TagID])
			}
		}
	}
	return result, nil
}

// Categories returns the known names of categories, sorted; never nil.
func (r *Reader) Categories() []string {
	return append([]string{}, slices.Sorted(maps.Values(r.categories))...)
}

// Forget clears the cache: the next read reads the names of all categories and tags.
func (r *Reader) Forget() { r.categories = nil }

// expire clears the cache when it is old. Of the categories, which may be many, only the known ones are read again.
func (r *Reader) expire() {
	if r.categories != nil && time.Since(r.learntAt) < cmp.Or(r.Age, DefaultAge) {
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

// tagIDs lists the tags of a category and caches their names.
func (r *Reader) tagIDs(ctx context.Context, call Call, category, id string) (ids []string, err error) {
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

// categoryID finds a category by name, which the API cannot do. It returns "" if none has the name; then the names of all
// categories have just been read.
func (r *Reader) categoryID(ctx context.Context, call Call, name string) (string, error) {
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
	return "", nil
}

// learnCategory reads the name of a category, unless it has been deleted.
func (r *Reader) learnCategory(ctx context.Context, call Call, id string) error {
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

func (r *Reader) knownCategory(name string) (id string, ok bool) {
	for id, n := range r.categories {
		if n == name {
			return id, true
		}
	}
	return "", false
}
