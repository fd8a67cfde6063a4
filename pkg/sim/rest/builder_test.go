package rest_test

import (
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/rest"
)

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
