package rest_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/rest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/stock"
)

// tagEvents returns what the vCenter's event history has of tags, oldest first, as "type: message", and the last event.
func tagEvents(t *testing.T, c *vim25.Client) (texts []string, last *types.EventEx) {
	t.Helper()
	res, err := methods.QueryEvents(t.Context(), c, &types.QueryEvents{
		This: *c.ServiceContent.EventManager,
		Filter: types.EventFilterSpec{
			EventTypeId: []string{"com.vmware.cis.tagging.attach", "com.vmware.cis.tagging.detach"}, MaxCount: 100,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range slices.Backward(res.Returnval) {
		last = v.(*types.EventEx)
		texts = append(texts, last.EventTypeId+": "+last.FullFormattedMessage)
	}
	return texts, last
}

// The vCenter's event history has all attached and detached tags, and no other changes of tags.
func TestTagsAreEventsOfTheVCenter(t *testing.T) {
	v := newVCenter(t, nil)
	v.category(t, "zone", rest.Multiple, nil, "a", "b", "c")
	vms := v.vms()
	vm, other := vms[0], vms[1]
	name := func(ref types.ManagedObjectReference) string {
		e, _ := v.base.Map.Get(ref).(mo.Entity)
		return e.Entity().Name
	}
	c := v.soap(t)
	const association = "/api/cis/tagging/tag-association"
	on := func(body map[string]any, ref types.ManagedObjectReference) map[string]any {
		body["object_id"] = wire(ref)
		return body
	}
	both := []string{tag("a"), tag("b")}
	objects := []map[string]string{wire(vm), wire(other)}
	attach := func(tag, object string) string {
		return fmt.Sprintf(`com.vmware.cis.tagging.attach: User VSPHERE.LOCAL\administrator attached tag %s to object %s`, tag, object)
	}
	detach := func(tag, object string) string {
		return fmt.Sprintf(`com.vmware.cis.tagging.detach: User VSPHERE.LOCAL\administrator detached tag %s from object %s`, tag, object)
	}
	one, two := name(vm), name(other)
	var want []string
	for _, step := range []struct {
		path string
		body any
		want []string
	}{
		{association + "/" + tag("a") + "?action=attach", on(map[string]any{}, vm), []string{attach("a", one)}},
		{association + "/" + tag("a") + "?action=attach", on(map[string]any{}, vm), nil}, // it already is
		{"/rest/com/vmware/cis/tagging/tag-association/id:" + tag("a") + "?~action=detach", on(map[string]any{}, vm), []string{detach("a", one)}},
		{association + "?action=attach-multiple-tags-to-object", on(map[string]any{"tag_ids": both}, vm), []string{attach("a", one), attach("b", one)}},
		{association + "?action=detach-multiple-tags-from-object", on(map[string]any{"tag_ids": both}, vm), []string{detach("a", one), detach("b", one)}},
		{association + "/" + tag("c") + "?action=attach-tag-to-multiple-objects", map[string]any{"object_ids": objects}, []string{attach("c", one), attach("c", two)}},
		{association + "/" + tag("c") + "?action=detach-tag-from-multiple-objects", map[string]any{"object_ids": objects}, []string{detach("c", one), detach("c", two)}},
		{association + "/" + tag("c") + "?action=attach", on(map[string]any{}, vm), []string{attach("c", one)}},
	} {
		if a := v.do(t, http.MethodPost, step.path, step.body); a.status >= 300 {
			t.Fatalf("%s: %d %s", step.path, a.status, a.body)
		}
		want = append(want, step.want...)
		got, _ := tagEvents(t, c)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s: %s", step.path, diff)
		}
	}
	_, last := tagEvents(t, c)
	arguments := []types.KeyAnyValue{{Key: "Tag", Value: "c"}, {Key: "Object", Value: one}, {Key: "User", Value: `VSPHERE.LOCAL\administrator`}}
	if diff := cmp.Diff(arguments, last.Arguments); diff != "" || last.UserName != `VSPHERE.LOCAL\administrator` || last.Severity != "info" {
		t.Errorf("user %q, severity %q: %s", last.UserName, last.Severity, diff)
	}

	v.do(t, http.MethodPatch, "/api/cis/tagging/tag/"+tag("c"), map[string]any{"name": "renamed"})
	v.do(t, http.MethodDelete, "/api/cis/tagging/tag/"+tag("c"), nil)
	v.do(t, http.MethodDelete, "/api/cis/tagging/category/"+cat("zone"), nil)
	if got, _ := tagEvents(t, c); len(got) != len(want) {
		t.Errorf("renaming and deleting: %v", got[len(want):])
	}
}

// vcsim posts nothing.
func TestStockTagsAreNoEvents(t *testing.T) {
	v := newVCenter(t, func(o *rest.Options) { o.Stock = stock.Set{stock.Tags} })
	v.category(t, "zone", rest.Multiple, nil, "a")
	if err := v.AttachTag(v.vms()[0], tag("a")); err != nil {
		t.Fatal(err)
	}
	if got, _ := tagEvents(t, v.soap(t)); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}
