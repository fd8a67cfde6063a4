package rest_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/object"
	client "github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/rest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/stock"
)

func TestCardinality(t *testing.T) {
	v := newVCenter(t, nil)
	v.category(t, "zone", rest.Single, nil, "a", "b")
	v.category(t, "owner", rest.Single, nil, "c")
	vm := v.vms()[0]
	m, ctx := v.tags(t), t.Context()
	for _, step := range []struct {
		do   func() error
		want string
	}{
		{func() error { return m.AttachTag(ctx, tag("a"), vm) }, ""},
		{func() error { return m.AttachTag(ctx, tag("a"), vm) }, ""},
		{func() error { return m.AttachTag(ctx, tag("b"), vm) }, "Tagging cardinality violation"},
		{func() error { return m.AttachTag(ctx, tag("c"), vm) }, ""},
		{func() error { return m.AttachMultipleTagsToObject(ctx, []string{tag("b")}, vm) }, "because of a cardinality violation"},
		{func() error { return m.DetachTag(ctx, tag("a"), vm) }, ""},
		{func() error { return m.AttachTag(ctx, tag("b"), vm) }, ""},
	} {
		err := step.do()
		if (err == nil) != (step.want == "") || err != nil && !strings.Contains(err.Error(), step.want) {
			t.Errorf("err = %v, want %q", err, step.want)
		}
	}
	if got := v.Tags(vm); !slices.Equal(got, []string{tag("b"), tag("c")}) {
		t.Errorf("tags: %v", got)
	}
	if err := v.Attach(tag("a"), vm); err == nil || !strings.Contains(err.Error(), "cardinality") {
		t.Errorf("the builder may: %v", err)
	}
}

func TestAssociableTypes(t *testing.T) {
	v := newVCenter(t, nil)
	v.category(t, "zone", rest.Multiple, []string{"HostSystem", "Datacenter"}, "a")
	m := v.tags(t)
	if err := m.AttachTag(t.Context(), tag("a"), v.vms()[0]); err == nil || !strings.Contains(err.Error(), "invalid_argument") {
		t.Errorf("VM: %v", err)
	}
	for _, kind := range []string{"HostSystem", "Datacenter"} {
		if err := m.AttachTag(t.Context(), tag("a"), v.one(kind)); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestObjectsMustExist(t *testing.T) {
	v := newVCenter(t, nil)
	v.category(t, "zone", rest.Multiple, nil, "a")
	m, ctx := v.tags(t), t.Context()
	for _, ref := range []types.ManagedObjectReference{
		{Type: "VirtualMachine", Value: "vm-none"},
		{Type: "HostSystem", Value: v.vms()[0].Value},
		{Type: "SessionManager", Value: "SessionManager"},
	} {
		for name, err := range map[string]error{
			"attach":          m.AttachTag(ctx, tag("a"), ref),
			"detach":          m.DetachTag(ctx, tag("a"), ref),
			"attach multiple": m.AttachMultipleTagsToObject(ctx, []string{tag("a")}, ref),
			"list": func() error {
				_, err := m.ListAttachedTags(ctx, ref)
				return err
			}(),
		} {
			if !client.IsStatusError(err, http.StatusForbidden) {
				t.Errorf("%s %s: %v", name, ref, err)
			}
		}
	}
	if err := m.AttachTag(ctx, tag("none"), v.vms()[0]); !client.IsStatusError(err, http.StatusNotFound) {
		t.Errorf("no such tag: %v", err)
	}
	if got := v.Snapshot().Associations; got != nil {
		t.Errorf("associations: %v", got)
	}
}

// TestDestroyedObjectHasNoTags also names the objects of events by what they are called then.
func TestDestroyedObjectHasNoTags(t *testing.T) {
	v := newVCenter(t, nil)
	v.category(t, "zone", rest.Multiple, nil, "a")
	c, vms := v.soap(t), v.vms()
	m, ctx := v.tags(t), t.Context()
	for _, ref := range vms {
		if err := m.AttachTag(ctx, tag("a"), ref); err != nil {
			t.Fatal(err)
		}
	}
	task, err := object.NewVirtualMachine(c, vms[0]).Rename(ctx, "renamed")
	if err != nil {
		t.Fatal(err)
	}
	if err := task.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	before := v.events.Last()
	if err := m.DetachTag(ctx, tag("a"), vms[0]); err != nil {
		t.Fatal(err)
	}
	if got := v.kinds(before); !slices.Equal(got, []string{"tag.detached VM renamed"}) {
		t.Errorf("events: %v", got)
	}
	for _, ref := range vms {
		task, err := object.NewVirtualMachine(c, ref).Destroy(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := task.Wait(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if l, err := m.ListAttachedObjects(ctx, tag("a")); err != nil || len(l) != 0 {
		t.Errorf("objects: %v, %v", l, err)
	}
}

func TestEvents(t *testing.T) {
	v := newVCenter(t, nil)
	v.category(t, "zone", rest.Multiple, nil, "a", "b")
	m, ctx, host := v.tags(t), t.Context(), v.one("HostSystem")
	v.do(t, http.MethodPost, "/api/cis/tagging/tag-association/"+tag("a")+"?action=attach", map[string]any{"object_id": wire(host)})
	v.do(t, http.MethodPost, "/api/cis/tagging/tag-association/"+tag("b")+"?action=attach", map[string]any{"object_id": wire(host)})
	if err := m.DetachTag(ctx, tag("b"), host); err != nil {
		t.Fatal(err)
	}
	if err := m.DetachTag(ctx, tag("b"), host); err != nil { // nothing to tell
		t.Fatal(err)
	}
	v.do(t, http.MethodDelete, "/api/cis/tagging/category/"+cat("zone"), nil)
	events, _ := v.events.Read(0, 0)
	type reported struct {
		Kind, Object, Message string
		Cause                 uint64
	}
	var got []reported
	for _, e := range events {
		got = append(got, reported{e.Kind, e.Object.VCenter + " " + e.Object.Kind, e.Message, e.Cause})
	}
	want := []reported{
		{"tag.attached", "west Host", "tag zone/a attached by " + admin, 0},
		{"tag.attached", "west Host", "tag zone/b attached by " + admin, 0},
		{"tag.detached", "west Host", "tag zone/b detached by " + admin, 0},
		{"tag-category.deleted", "west TagCategory", "tag category zone deleted by " + admin + " with 2 tags", 0},
		{"tag.deleted", "west Tag", "tag zone/a deleted; it was on 1 objects", 4},
		{"tag.detached", "west Host", "tag zone/a detached", 5},
		{"tag.deleted", "west Tag", "tag zone/b deleted; it was on 0 objects", 4},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestCategoriesGrow(t *testing.T) {
	v := newVCenter(t, nil)
	v.category(t, "zone", rest.Single, []string{"HostSystem"})
	v.category(t, "any", rest.Multiple, nil)
	for _, step := range []struct {
		name   string
		spec   map[string]any
		status int
	}{
		{"zone", map[string]any{"associable_types": []string{"Datacenter", "HostSystem"}}, 204},
		{"zone", map[string]any{"associable_types": []string{"Datacenter"}}, 400},
		{"zone", map[string]any{"associable_types": []string{}}, 400},
		{"any", map[string]any{"associable_types": []string{"Datacenter"}}, 400},
		{"zone", map[string]any{"cardinality": "MULTIPLE"}, 204},
		{"zone", map[string]any{"cardinality": "SINGLE"}, 400},
		{"zone", map[string]any{"cardinality": "SOME"}, 400},
		{"zone", map[string]any{"name": "any"}, 400},
		{"zone", map[string]any{"name": ""}, 400},
		{"zone", map[string]any{"name": "zone", "description": "d"}, 204},
		{"zone", map[string]any{}, 204},
	} {
		if a := v.do(t, http.MethodPatch, "/api/cis/tagging/category/"+cat(step.name), step.spec); a.status != step.status {
			t.Errorf("%v: %+v", step.spec, a)
		}
	}
	want := rest.Category{
		ID: cat("zone"), Name: "zone", Description: "d", Cardinality: rest.Multiple,
		AssociableTypes: []string{"Datacenter", "HostSystem"}, UsedBy: []string{},
	}
	if d := cmp.Diff(want, v.Snapshot().Categories[0]); d != "" {
		t.Error(d)
	}
}

func TestPermissions(t *testing.T) {
	var hidden, locked types.ManagedObjectReference
	v := newVCenter(t, func(o *rest.Options) {
		o.MayRead = func(_ string, ref vc.Ref) bool { return ref != hidden }
		o.MayWrite = func(_ string, ref vc.Ref) bool { return ref != locked && ref.Type != "Folder" }
	})
	v.category(t, "zone", rest.Multiple, nil, "a")
	vms := v.vms()
	for _, ref := range vms {
		if err := v.Attach(tag("a"), ref); err != nil {
			t.Fatal(err)
		}
	}
	hidden, locked = vms[0], vms[1]
	const p = "/api/cis/tagging/tag-association"
	post := func(path string, body any) answer { return v.do(t, http.MethodPost, path, body) }
	for _, ref := range vms {
		if a := post(p+"/"+tag("a")+"?action=detach", map[string]any{"object_id": wire(ref)}); a.status != http.StatusForbidden {
			t.Errorf("detach %s: %+v", ref, a)
		}
	}
	if a := post(p+"/"+tag("a")+"?action=list-attached-objects", nil); a.body != `[{"type":"VirtualMachine","id":"`+vms[1].Value+`"}]` {
		t.Errorf("objects: %+v", a)
	}
	both := map[string]any{"object_ids": []any{wire(vms[0]), wire(vms[1])}}
	if a := post(p+"?action=list-attached-tags-on-objects", both); strings.Count(a.body, "object_id") != 1 {
		t.Errorf("tags: %+v", a)
	}
	if a := post(p+"/"+tag("a")+"?action=detach-tag-from-multiple-objects", both); a.status != http.StatusOK ||
		strings.Count(a.body, "Unable to authorize user") != 2 {
		t.Errorf("detach: %+v", a)
	}
	for _, a := range []answer{
		v.do(t, http.MethodDelete, "/api/cis/tagging/tag/"+tag("a"), nil),
		v.do(t, http.MethodDelete, "/api/cis/tagging/category/"+cat("zone"), nil),
		v.do(t, http.MethodPatch, "/api/cis/tagging/tag/"+tag("a"), map[string]string{"name": "b"}),
		post("/api/cis/tagging/tag", map[string]string{"name": "b", "description": "", "category_id": cat("zone")}),
	} {
		if a.status != http.StatusForbidden {
			t.Errorf("without the privilege: %+v", a)
		}
	}
}

func TestStock(t *testing.T) {
	v := newVCenter(t, func(o *rest.Options) { o.Stock = stock.Set{stock.Tags, stock.APITags, stock.APISession} })
	v.category(t, "zone", rest.Single, []string{"HostSystem"}, "a", "b")
	m, vm := v.tags(t), v.vms()[0]
	for _, ref := range []types.ManagedObjectReference{vm, {Type: "VirtualMachine", Value: "vm-none"}} {
		for _, name := range []string{"a", "b"} {
			if err := m.AttachTag(t.Context(), tag(name), ref); err != nil {
				t.Error(err)
			}
		}
	}
	if got := len(v.Snapshot().Associations); got != 4 {
		t.Errorf("%d associations", got)
	}
	for _, path := range []string{"/api/session", "/api/cis/tagging/tag"} {
		if a := v.do(t, http.MethodGet, path, nil); a.status != http.StatusNotFound {
			t.Errorf("%s: %+v", path, a)
		}
	}
}

// TestTagSpecs: vcsim's own operations with tags work on the same ones.
func TestTagSpecs(t *testing.T) {
	v := newVCenter(t, nil)
	v.category(t, "zone", rest.Single, nil, "a", "b")
	vm := v.vms()[0]
	o := object.NewVirtualMachine(v.soap(t), vm)
	add := func(name string) error {
		task, err := o.Reconfigure(t.Context(), types.VirtualMachineConfigSpec{TagSpecs: []types.TagSpec{{
			ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationAdd},
			Id:              types.TagId{NameId: &types.TagIdNameId{Category: "zone", Tag: name}},
		}}})
		if err != nil {
			return err
		}
		return task.Wait(t.Context())
	}
	if err := add("a"); err != nil {
		t.Fatal(err)
	}
	if got := v.Tags(vm); !slices.Equal(got, []string{tag("a")}) {
		t.Errorf("tags: %v", got)
	}
	if err := add("b"); err == nil {
		t.Error("two tags of a category for one")
	}
	if err := add("none"); err == nil {
		t.Error("a tag that is not there")
	}
	if category, name, err := v.GetTagCategoryAndName(tag("a")); category != "zone" || name != "a" || err != nil {
		t.Errorf("names: %s/%s, %v", category, name, err)
	}
	if refs, err := v.AttachedObjects(tag("a")); err != nil || !slices.Equal(refs, []types.ManagedObjectReference{vm}) {
		t.Errorf("objects: %v, %v", refs, err)
	}
	if err := v.DetachTag(vm, tag("a")); err != nil || len(v.Tags(vm)) != 0 {
		t.Errorf("detach: %v", err)
	}
	if _, err := v.AttachedObjects(tag("none")); err == nil {
		t.Error("objects of a tag that is not there")
	}
}
