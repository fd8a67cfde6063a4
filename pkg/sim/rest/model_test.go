package rest_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/race"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/rest"
)

// reference is what tags are, said as simply as possible: a set of pairs.
type reference struct {
	categories map[string]reflection // by ID
	tags       map[string]string     // ID to category ID
	attached   map[pair]bool
}

type reflection struct {
	single bool
	kinds  []string
}

type pair struct {
	tag string
	obj types.ManagedObjectReference
}

func (r *reference) may(tag string, obj types.ManagedObjectReference) bool {
	if r.attached[pair{tag, obj}] {
		return true
	}
	c := r.categories[r.tags[tag]]
	if len(c.kinds) > 0 && !slices.Contains(c.kinds, obj.Type) {
		return false
	}
	for p := range r.attached {
		if c.single && p.obj == obj && r.tags[p.tag] == r.tags[tag] {
			return false
		}
	}
	return true
}

func (r *reference) drop(is func(pair) bool) {
	maps.DeleteFunc(r.attached, func(p pair, _ bool) bool { return is(p) })
}

// TestRandomOperations does what clients do, in random order, and compares with the reference.
func TestRandomOperations(t *testing.T) {
	race.SkipSlow(t)
	v := newVCenter(t, nil)
	m, c, ctx := v.tags(t), v.soap(t), t.Context()
	objects := append(v.vms(), v.one("HostSystem"), v.one("Datacenter"), v.one("Datastore"))
	kinds := [][]string{nil, {"VirtualMachine"}, {"HostSystem", "Datacenter"}}
	model := &reference{map[string]reflection{}, map[string]string{}, map[pair]bool{}}
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(of []string) string { return of[random.IntN(len(of))] }
	anyTag := func() string {
		if random.IntN(20) == 0 || len(model.tags) == 0 {
			return tag("none")
		}
		return pick(slices.Sorted(maps.Keys(model.tags)))
	}
	expect := func(what string, ok bool, err error) {
		t.Helper()
		if ok != (err == nil) {
			t.Fatalf("%s: ok %v, err %v", what, ok, err)
		}
	}

	destroyed := false
	for n := range 1500 {
		id, obj := anyTag(), objects[random.IntN(len(objects))]
		_, known := model.tags[id]
		switch op := random.IntN(20); {
		case op == 0 && len(model.categories) < 6:
			r := reflection{random.IntN(2) == 0, kinds[random.IntN(len(kinds))]}
			cardinality := rest.Multiple
			if r.single {
				cardinality = rest.Single
			}
			id, err := m.CreateCategory(ctx, &tags.Category{Name: fmt.Sprint("c", n), Cardinality: cardinality, AssociableTypes: r.kinds})
			expect("create category", true, err)
			model.categories[id] = r
		case op <= 3 && len(model.categories) > 0 && len(model.tags) < 20:
			c := pick(slices.Sorted(maps.Keys(model.categories)))
			id, err := m.CreateTag(ctx, &tags.Tag{Name: fmt.Sprint("t", n), CategoryID: c})
			expect("create tag", true, err)
			model.tags[id] = c
		case op == 4 && random.IntN(3) == 0:
			expect("delete tag", known, m.DeleteTag(ctx, &tags.Tag{ID: id}))
			delete(model.tags, id)
			model.drop(func(p pair) bool { return p.tag == id })
		case op == 5 && random.IntN(6) == 0 && len(model.categories) > 0:
			c := pick(slices.Sorted(maps.Keys(model.categories)))
			expect("delete category", true, m.DeleteCategory(ctx, &tags.Category{ID: c}))
			model.drop(func(p pair) bool { return model.tags[p.tag] == c })
			maps.DeleteFunc(model.tags, func(_, of string) bool { return of == c })
			delete(model.categories, c)
		case op <= 10:
			may := known && model.may(id, obj)
			expect("attach", may, m.AttachTag(ctx, id, obj))
			if may {
				model.attached[pair{id, obj}] = true
			}
		case op <= 13:
			expect("detach", known, m.DetachTag(ctx, id, obj))
			delete(model.attached, pair{id, obj})
		case op <= 15:
			several := []string{id, anyTag(), anyTag()}
			failed := 0
			for _, id := range several {
				if _, known := model.tags[id]; known && model.may(id, obj) {
					model.attached[pair{id, obj}] = true
				} else {
					failed++
				}
			}
			var batch tags.BatchErrors
			err := m.AttachMultipleTagsToObject(ctx, several, obj)
			if errors.As(err, &batch); len(batch) != failed {
				t.Fatalf("attach multiple: %v, want %d failures", err, failed)
			}
		case op == 16:
			several := []string{id, anyTag()}
			all := true
			for _, id := range several {
				_, known := model.tags[id]
				all = all && known
				delete(model.attached, pair{id, obj})
			}
			expect("detach multiple", all, m.DetachMultipleTagsFromObject(ctx, several, obj))
		case !destroyed && n > 700:
			destroyed = true
			vm := objects[0]
			task, err := object.NewVirtualMachine(c, vm).Destroy(ctx)
			expect("destroy", true, err)
			expect("destroy", true, task.Wait(ctx))
			objects = objects[1:]
			model.drop(func(p pair) bool { return p.obj == vm })
		}

		// Both directions, and all at once.
		var want, got []string
		for p := range model.attached {
			want = append(want, p.tag+" "+p.obj.Value)
		}
		refs := make([]mo.Reference, len(objects))
		for i, o := range objects {
			refs[i] = o
		}
		on, err := m.ListAttachedTagsOnObjects(ctx, refs)
		expect("list", true, err)
		for _, o := range on {
			for _, id := range o.TagIDs {
				got = append(got, id+" "+o.ObjectID.Reference().Value)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("step %d: tags on objects: %s", n, d)
		}
		if n%10 != 0 || len(model.tags) == 0 { // govmomi sends null for no tags, which is no list
			continue
		}
		got = nil
		with, err := m.ListAttachedObjectsOnTags(ctx, slices.Collect(maps.Keys(model.tags)))
		expect("list", true, err)
		for _, w := range with {
			for _, o := range w.ObjectIDs {
				got = append(got, w.TagID+" "+o.Reference().Value)
			}
		}
		slices.Sort(got)
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("step %d: objects on tags: %s", n, d)
		}
		var saved []string
		for _, a := range v.Snapshot().Associations {
			saved = append(saved, a.TagID+" "+a.Object.Value)
		}
		slices.Sort(saved)
		if d := cmp.Diff(want, saved); d != "" {
			t.Fatalf("step %d: snapshot: %s", n, d)
		}
	}
	if !slices.ContainsFunc(v.kinds(0), func(s string) bool { return strings.HasPrefix(s, "tag-category.deleted") }) {
		t.Error("no category was ever deleted: the test is not what it should be")
	}
}
