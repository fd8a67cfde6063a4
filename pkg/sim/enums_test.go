package sim_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

// TestRequiredEnumsHaveAValue: every required enum has a value. vcsim omits those that govmomi does not read, and Python clients
// cannot decode objects without them.
func TestRequiredEnumsHaveAValue(t *testing.T) {
	lab := sim.Start(t, `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: lab}
spec:
  vcenters:
    - name: vc
      datacenters:
        - name: dc
          clusters: [{name: c1, hosts: [{name: h1}]}]
          datastores: [{name: ds}]
          vms: [{name: vm-1, role: worker}, {name: vm-2, power: off}]
`)
	ctx, client := t.Context(), lab.Client("vc").Client
	v, err := view.NewManager(client).CreateContainerView(ctx, client.ServiceContent.RootFolder, nil, true)
	if err != nil {
		t.Fatal(err)
	}
	refs, err := v.Find(ctx, nil, property.Match{})
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]bool{}
	for _, ref := range refs {
		res, err := property.DefaultCollector(client).RetrieveProperties(ctx, types.RetrieveProperties{SpecSet: []types.PropertyFilterSpec{{
			PropSet: []types.PropertySpec{{Type: ref.Type, All: new(true)}}, ObjectSet: []types.ObjectSpec{{Obj: ref}},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range res.Returnval {
			for _, p := range o.PropSet {
				emptyEnums(reflect.ValueOf(p.Val), ref.Type+" "+p.Name, missing)
			}
		}
	}
	for _, at := range slices.Sorted(maps.Keys(missing)) {
		t.Error(at)
	}
}

func emptyEnums(v reflect.Value, at string, missing map[string]bool) {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() {
			emptyEnums(v.Elem(), at, missing)
		}
	case reflect.Slice:
		for i := range v.Len() {
			emptyEnums(v.Index(i), at+"[]", missing)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			tag := f.Tag.Get("xml")
			name, _, _ := strings.Cut(tag, ",")
			if v.Field(i).Kind() == reflect.String && v.Field(i).Len() == 0 && f.Type != reflect.TypeFor[string]() && !strings.Contains(tag, "omitempty") {
				missing[fmt.Sprintf("%s.%s (%s)", at, name, f.Type.Name())] = true
			}
			if f.IsExported() {
				emptyEnums(v.Field(i), at+"."+name, missing)
			}
		}
	}
}
