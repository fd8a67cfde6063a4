package rest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/rest"
)

func TestSnapshotAndRestore(t *testing.T) {
	v := newVCenter(t, nil)
	v.category(t, "zone", rest.Single, []string{"VirtualMachine"}, "a", "b")
	v.category(t, "any", rest.Multiple, nil, "c")
	vms := v.vms()
	for _, a := range []rest.Association{{tag("a"), vms[0]}, {tag("b"), vms[1]}, {tag("c"), vms[0]}} {
		if err := v.Attach(a.TagID, a.Object); err != nil {
			t.Fatal(err)
		}
	}
	saved := v.Snapshot()
	b, err := json.Marshal(saved)
	if err != nil {
		t.Fatal(err)
	}

	w := newVCenter(t, nil)
	w.category(t, "other", rest.Single, nil, "d")
	var loaded rest.Snapshot
	if err := json.Unmarshal(b, &loaded); err != nil {
		t.Fatal(err)
	}
	if err := w.Restore(loaded); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(saved, w.Snapshot()); d != "" {
		t.Error(d)
	}
	if l, err := w.tags(t).ListAttachedTags(t.Context(), vms[0]); err != nil || len(l) != 2 {
		t.Errorf("tags: %v, %v", l, err)
	}

	for want, broken := range map[string]func(*rest.Snapshot){
		"already exists": func(s *rest.Snapshot) { s.Categories = append(s.Categories, s.Categories[0]) },
		"not found":      func(s *rest.Snapshot) { s.Tags[0].CategoryID = cat("none") },
		"cardinality": func(s *rest.Snapshot) {
			s.Associations[0].TagID = tag("b")
			s.Associations[0].Object = vms[1]
			s.Associations[1].TagID = tag("a")
		},
		"no VirtualMachine vm-none": func(s *rest.Snapshot) {
			s.Associations[0].Object = types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-none"}
		},
	} {
		var s rest.Snapshot
		if err := json.Unmarshal(b, &s); err != nil {
			t.Fatal(err)
		}
		broken(&s)
		if err := w.Restore(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("err = %v, want %q", err, want)
		}
		if d := cmp.Diff(saved, w.Snapshot()); d != "" {
			t.Errorf("half restored: %s", d)
		}
	}
}

var _ inventory.Tagger = (*rest.Handler)(nil)

func TestBuilderIsChecked(t *testing.T) {
	v := newVCenter(t, nil)
	v.category(t, "zone", rest.Single, []string{"VirtualMachine"}, "a")
	for want, err := range map[string]error{
		"already exists":      v.Category("", "zone", "", rest.Single, nil),
		"Invalid category ID": v.Category("x", "x", "", rest.Single, nil),
		"Invalid cardinality": v.Category("", "x", "", "single", nil),
		"cannot be empty":     v.Tag("", cat("zone"), "", ""),
		"not found":           v.Tag("", cat("none"), "x", ""),
		"associability":       v.Attach(tag("a"), v.one("HostSystem")),
		"no VirtualMachine":   v.Attach(tag("a"), types.ManagedObjectReference{Type: "VirtualMachine", Value: "x"}),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("err = %v, want %q", err, want)
		}
	}
	if id, ok := v.Find("zone", "a"); !ok || id != tag("a") {
		t.Errorf("find: %s, %v", id, ok)
	}
	if _, ok := v.Find("zone", "b"); ok {
		t.Error("found what is not there")
	}
	if len(v.kinds(0)) != 0 {
		t.Error("building is no news")
	}
}
