package sim_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/task"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/progress"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

// What govmomi's packages promise their users, as its own tests have it for vcsim: finder, property, view, task, tags.

const library = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: library}
spec:
  tagCategories: [{name: color, cardinality: multiple}]
  vcenters:
    - name: vc
      datacenters:
        - name: dc1
          folder: world/north
          networks: [{name: net}]
          switches: [{name: dvs, portGroups: [{name: pg}]}]
          datastores: [{name: ds1}, {name: ds2}]
          clusters: [{name: c, hosts: [{name: "h{n}", replicas: 3}], pools: [{name: p, pools: [{name: q}]}]}]
          hosts: [{name: lone}]
          vms:
            - {name: "a{n}", replicas: 2, cluster: c, folder: apps/web}
            - {name: b, cluster: c, power: off}
        - name: dc2
          hosts: [{name: far}]
          vms: [{name: b, host: far}]
`

func TestFinder(t *testing.T) {
	c := sim.Start(t, library).Client("vc")
	f := find.NewFinder(c.Client, true)
	if _, err := f.DefaultDatacenter(t.Context()); !errors.As(err, new(*find.DefaultMultipleFoundError)) {
		t.Errorf("default datacenter of two: %v", err)
	}
	dc, err := f.Datacenter(t.Context(), "dc1") // by its name, wherever it is
	if err != nil || dc.InventoryPath != "/world/north/dc1" {
		t.Fatalf("%v, %v", dc, err)
	}
	f.SetDatacenter(dc)
	for _, tc := range []struct {
		pattern string
		want    []string
	}{
		{"b", []string{"/world/north/dc1/vm/b"}},
		{"a1", []string{"/world/north/dc1/vm/apps/web/a1"}}, // a name is searched for, a path is followed
		{"./a1", nil},
		{"apps/web/a1", []string{"/world/north/dc1/vm/apps/web/a1"}},
		{"apps/web/*", []string{"/world/north/dc1/vm/apps/web/a1", "/world/north/dc1/vm/apps/web/a2"}},
		{"./apps/web/a?", []string{"/world/north/dc1/vm/apps/web/a1", "/world/north/dc1/vm/apps/web/a2"}},
		{"/dc2/vm/*", []string{"/dc2/vm/b"}},
		{"/dc2/...", []string{"/dc2/vm/b"}},
		{"/world/...", []string{"/world/north/dc1/vm/apps/web/a1", "/world/north/dc1/vm/apps/web/a2", "/world/north/dc1/vm/b"}},
		{"nobody", nil},
	} {
		all, err := f.VirtualMachineList(t.Context(), tc.pattern)
		if none := errors.As(err, new(*find.NotFoundError)); none != (tc.want == nil) || err != nil && !none {
			t.Errorf("%s: %v", tc.pattern, err)
		}
		var got []string
		for _, vm := range all {
			got = append(got, vm.InventoryPath)
		}
		slices.Sort(got)
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%s: %s", tc.pattern, d)
		}
	}

	for path, list := range map[string]func(context.Context, string) (int, error){
		"/world/north/dc1/host/*":               counted(f.ComputeResourceList),
		"/world/north/dc1/host/*/*":             counted(f.HostSystemList),
		"/world/north/dc1/host/c/Resources/...": counted(f.ResourcePoolList),
		"/world/north/dc1/datastore/*":          counted(f.DatastoreList),
		"/world/north/dc1/network/*":            counted(f.NetworkList),
		"/world/...":                            counted(f.FolderList),
		"/world/north/dc1/host/c":               counted(f.ClusterComputeResourceList),
		"/world/north/dc1/host/c/Resources/p/q": counted(f.ResourcePoolList),
		"/...":                                  counted(f.DatacenterList),
	} {
		if n, err := list(t.Context(), path); err != nil || n == 0 {
			t.Errorf("%s: %d, %v", path, n, err)
		}
	}

	vm, err := f.VirtualMachine(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	back, err := f.ObjectReference(t.Context(), vm.Reference())
	if err != nil || back.(*object.VirtualMachine).InventoryPath != vm.InventoryPath {
		t.Errorf("%v, %v", back, err)
	}
	element, err := f.Element(t.Context(), vm.Reference())
	if err != nil || element.Path != vm.InventoryPath {
		t.Errorf("%v, %v", element, err)
	}
	byRef, err := f.VirtualMachine(t.Context(), vm.Reference().String())
	if err != nil || byRef.Reference() != vm.Reference() {
		t.Errorf("by reference: %v, %v", byRef, err)
	}
	if pool, err := f.ResourcePool(t.Context(), "c/Resources/p/q"); err != nil || pool.Name() != "q" {
		t.Errorf("%v, %v", pool, err)
	}
	if _, err := f.DefaultDatastore(t.Context()); !errors.As(err, new(*find.DefaultMultipleFoundError)) {
		t.Errorf("default datastore of two: %v", err)
	}
}

func counted[T any](list func(context.Context, string) ([]T, error)) func(context.Context, string) (int, error) {
	return func(ctx context.Context, path string) (int, error) {
		all, err := list(ctx, path)
		return len(all), err
	}
}

func TestContainerViewFind(t *testing.T) {
	c := sim.Start(t, library).Client("vc")
	cv, err := view.NewManager(c.Client).CreateContainerView(t.Context(), c.ServiceContent.RootFolder, nil, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		kinds []string
		match property.Match
		want  int
	}{
		{[]string{"VirtualMachine"}, nil, 4},
		{[]string{"VirtualMachine"}, property.Match{"name": "a*"}, 2},
		{[]string{"VirtualMachine"}, property.Match{"name": "b", "runtime.powerState": types.VirtualMachinePowerStatePoweredOff}, 1},
		{[]string{"HostSystem", "Datastore"}, property.Match{"name": "*1"}, 2},
		{[]string{"Network"}, property.Match{"name": "pg"}, 1}, // a port group is a network
		{[]string{"ManagedEntity"}, property.Match{"name": "lone"}, 2},
		{[]string{"VirtualMachine"}, property.Match{"name": "none"}, 0},
	} {
		got, err := cv.Find(t.Context(), tc.kinds, tc.match)
		if err != nil || len(got) != tc.want {
			t.Errorf("%v %v: %d, %v, want %d", tc.kinds, tc.match, len(got), err, tc.want)
		}
	}
	if err := cv.Destroy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := cv.Destroy(t.Context()); !fault.Is(err, &types.ManagedObjectNotFound{}) {
		t.Errorf("destroyed again: %v", err)
	}
}

func TestListViewOfLibrary(t *testing.T) {
	c := sim.Start(t, library).Client("vc")
	m := view.NewManager(c.Client)
	all, err := find.NewFinder(c.Client).VirtualMachineList(t.Context(), "/...")
	if err != nil || len(all) != 4 {
		t.Fatalf("%d, %v", len(all), err)
	}
	refs := make([]types.ManagedObjectReference, len(all))
	for i, vm := range all {
		refs[i] = vm.Reference()
	}
	lv, err := m.CreateListView(t.Context(), refs[:1])
	if err != nil {
		t.Fatal(err)
	}
	holds := func(want ...types.ManagedObjectReference) {
		t.Helper()
		var v mo.ListView
		get(t, c, lv.Reference(), &v, "view")
		if d := cmp.Diff(want, v.View); d != "" {
			t.Error(d)
		}
	}
	holds(refs[0])
	gone := types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-0"}
	if unresolved, err := lv.Add(t.Context(), []types.ManagedObjectReference{refs[1], gone}); err != nil || !slices.Equal(unresolved, []types.ManagedObjectReference{gone}) {
		t.Errorf("unresolved %v, %v", unresolved, err)
	}
	holds(refs[0], refs[1])
	if _, err := lv.Remove(t.Context(), refs[:1]); err != nil {
		t.Error(err)
	}
	holds(refs[1])
	if _, err := lv.Reset(t.Context(), refs[2:]); err != nil {
		t.Error(err)
	}
	holds(refs[2], refs[3])
}

// A wait for properties ends with the context, when the caller has enough, and when the object goes.
func TestPropertyWait(t *testing.T) {
	lab := sim.Start(t, library)
	c := lab.Client("vc")
	m := vm(t, c, "/dc2/vm/b")
	pc := property.DefaultCollector(c.Client)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := property.Wait(ctx, pc, m.Reference(), []string{"name"}, func([]types.PropertyChange) bool { return false }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a wait that nobody ends: %v", err)
	}
	off := make(chan error, 1)
	go func() {
		_, err := m.PowerOff(t.Context())
		off <- err
	}()
	if err := m.WaitForPowerState(t.Context(), types.VirtualMachinePowerStatePoweredOff); err != nil {
		t.Error(err)
	}
	if err := <-off; err != nil {
		t.Error(err)
	}
	must(t)(m.Destroy(t.Context()))
	if err := pc.RetrieveOne(t.Context(), m.Reference(), []string{"name"}, new(mo.VirtualMachine)); !fault.Is(err, &types.ManagedObjectNotFound{}) {
		t.Errorf("an object that is gone: %v", err)
	}
}

type ticks chan progress.Report

func (c ticks) Sink() chan<- progress.Report { return c }

func TestTaskWait(t *testing.T) {
	lab := sim.Start(t, library)
	c := lab.Client("vc")
	m := vm(t, c, "/dc2/vm/b")
	start, err := m.PowerOff(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	reports := make(ticks, 100)
	info, err := start.WaitForResult(t.Context(), reports)
	if err != nil || info.State != types.TaskInfoStateSuccess || info.CompleteTime == nil || info.EntityName != "b" {
		t.Errorf("%+v, %v", info, err)
	}
	if r, ok := info.Reason.(*types.TaskReasonUser); !ok || r.UserName == "" || r.UserName == "vcsim" {
		t.Errorf("started by %+v", info.Reason)
	}
	start, err = m.PowerOff(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = start.Wait(t.Context())
	var failed task.Error
	if !errors.As(err, &failed) || !fault.Is(err, &types.InvalidPowerState{}) {
		t.Fatalf("%v", err)
	}
	if want := "The attempted operation cannot be performed in the current state (Powered off)."; failed.Error() != want {
		t.Errorf("%q, want %q", failed.Error(), want)
	}

	history, err := task.NewManager(c.Client).CreateCollectorForTasks(t.Context(), types.TaskFilterSpec{
		Entity: &types.TaskFilterSpecByEntity{Entity: m.Reference(), Recursion: types.TaskFilterSpecRecursionOptionSelf},
	})
	if err != nil {
		t.Fatal(err)
	}
	page, err := history.LatestPage(t.Context())
	if err != nil || len(page) != 2 {
		t.Errorf("%d tasks, %v", len(page), err)
	}
	if err := history.Destroy(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestTagsManager(t *testing.T) {
	lab := sim.Start(t, library)
	m := tags.NewManager(lab.REST("vc"))
	ctx := t.Context()
	c := lab.Client("vc")
	vms := []mo.Reference{vm(t, c, "/dc2/vm/b"), vm(t, c, "/world/north/dc1/vm/b")}

	ids := map[string]string{}
	for _, name := range []string{"red", "blue"} {
		id, err := m.CreateTag(ctx, &tags.Tag{Name: name, CategoryID: "color"})
		if err != nil {
			t.Fatal(err)
		}
		ids[name] = id
	}
	if _, err := m.CreateTag(ctx, &tags.Tag{Name: "red", CategoryID: "color"}); err == nil {
		t.Error("two tags of one name")
	}
	if err := m.AttachTagToMultipleObjects(ctx, ids["red"], vms); err != nil {
		t.Fatal(err)
	}
	if err := m.AttachMultipleTagsToObject(ctx, []string{ids["red"], ids["blue"]}, vms[0]); err != nil {
		t.Fatal(err)
	}
	names := func(ref mo.Reference) (list []string) {
		t.Helper()
		all, err := m.GetAttachedTags(ctx, ref)
		if err != nil {
			t.Fatal(err)
		}
		for _, tag := range all {
			list = append(list, tag.Name)
		}
		slices.Sort(list)
		return list
	}
	if d := cmp.Diff([]string{"blue", "red"}, names(vms[0])); d != "" {
		t.Error(d)
	}
	objects, err := m.GetAttachedObjectsOnTags(ctx, []string{"red", "blue"})
	if err != nil || len(objects) != 2 || len(objects[0].ObjectIDs)+len(objects[1].ObjectIDs) != 3 {
		t.Errorf("%v, %v", objects, err)
	}
	onObjects, err := m.GetAttachedTagsOnObjects(ctx, vms)
	if err != nil || len(onObjects) != 2 {
		t.Errorf("%v, %v", onObjects, err)
	}
	if err := m.DetachMultipleTagsFromObject(ctx, []string{ids["red"], ids["blue"]}, vms[0]); err != nil {
		t.Fatal(err)
	}
	if got := names(vms[0]); got != nil {
		t.Errorf("detached, and yet there: %v", got)
	}
	if left, err := m.ListAttachedObjects(ctx, ids["red"]); err != nil || len(left) != 1 || left[0].Reference() != vms[1].Reference() {
		t.Errorf("%v, %v", left, err)
	}
	red, err := m.GetTag(ctx, "red")
	if err != nil {
		t.Fatal(err)
	}
	red.Description = "warm"
	if err := m.UpdateTag(ctx, red); err != nil {
		t.Fatal(err)
	}
	if red, err = m.GetTagForCategory(ctx, "red", "color"); err != nil || red.Description != "warm" {
		t.Errorf("%+v, %v", red, err)
	}
	if err := m.DeleteTag(ctx, red); err != nil {
		t.Fatal(err)
	}
	if got := names(vms[1]); got != nil {
		t.Errorf("deleted, and yet attached: %v", got)
	}
	id, err := m.CreateCategory(ctx, &tags.Category{Name: "size", Cardinality: "SINGLE", AssociableTypes: []string{"VirtualMachine"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.CreateTag(ctx, &tags.Tag{Name: "large", CategoryID: id}); err != nil {
		t.Fatal(err)
	}
	if err := m.DeleteCategory(ctx, &tags.Category{ID: id}); err != nil {
		t.Fatal(err)
	}
	if _, err := m.GetCategory(ctx, "size"); err == nil {
		t.Error("a deleted category is there")
	}
	if _, err := m.GetTag(ctx, "large"); err == nil {
		t.Error("a tag of a deleted category is there")
	}
}
