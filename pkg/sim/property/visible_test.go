package property_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	pc "github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/property"
)

// veil hides objects from everybody, or their properties.
type veil struct {
	mu     sync.Mutex
	hidden map[types.ManagedObjectReference]bool
}

func (v *veil) set(ref types.ManagedObjectReference, hidden bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.hidden == nil {
		v.hidden = make(map[types.ManagedObjectReference]bool)
	}
	v.hidden[ref] = hidden
}

func (v *veil) allows(_ *simulator.Context, ref types.ManagedObjectReference) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return !v.hidden[ref]
}

func TestVisible(t *testing.T) {
	var see veil
	v := newVCenter(t, true, property.Options{Visible: see.allows}, small)
	c := v.login(t)
	vms := v.vms()
	cv := vmView(t, c, "VirtualMachine")
	lv, err := view.NewManager(c).CreateListView(t.Context(), vms)
	if err != nil {
		t.Fatal(err)
	}
	byContainer := newWatch(t, own(t, c), viewSpec(cv.Reference(), "VirtualMachine", "name"))
	byList := newWatch(t, own(t, c), viewSpec(lv.Reference(), "VirtualMachine", "name"))
	folder, err := v.datacenter(t, c)
	if err != nil {
		t.Fatal(err)
	}
	byFolder := newWatch(t, own(t, c), types.CreateFilter{Spec: types.PropertyFilterSpec{
		PropSet: []types.PropertySpec{{Type: "VirtualMachine", PathSet: []string{"name"}}},
		ObjectSet: []types.ObjectSpec{{Obj: folder.Reference(), SelectSet: []types.BaseSelectionSpec{
			&types.TraversalSpec{Type: "Folder", Path: "childEntity"},
		}}},
	}})
	byName := newWatch(t, own(t, c), spec("VirtualMachine", []string{"name"}, vms...))
	watches := map[string]*watch{"container": byContainer, "list": byList, "folder": byFolder, "name": byName}
	for name, w := range watches {
		if n := len(w.next().FilterSet[0].ObjectSet); n != 2 {
			t.Errorf("%s: %d VMs", name, n)
		}
	}

	see.set(vms[0], true)
	v.service.Recheck()
	for name, w := range watches {
		if got := lines(w.next()); len(got) != 1 || got[0] != "leave "+vms[0].Value {
			t.Errorf("%s, hidden: %q", name, got)
		}
	}
	var shown mo.ContainerView
	if err := pc.DefaultCollector(c).RetrieveOne(t.Context(), cv.Reference(), []string{"view"}, &shown); err != nil || len(shown.View) != 1 {
		t.Errorf("view shows %v, %v", shown.View, err)
	}
	var vm mo.VirtualMachine
	if err := pc.DefaultCollector(c).RetrieveOne(t.Context(), vms[0], []string{"name"}, &vm); !strings.Contains(fault(err), "NoPermission") {
		t.Errorf("retrieve by name: %v", err)
	}
	if _, err := own(t, c).CreateFilter(t.Context(), spec("VirtualMachine", []string{"name"}, vms[0])); !strings.Contains(fault(err), "NoPermission") {
		t.Errorf("filter by name: %v", err)
	}

	see.set(vms[0], false)
	v.service.Recheck()
	for name, w := range watches {
		if got := lines(w.next()); len(got) != 2 || got[0] != "enter "+vms[0].Value {
			t.Errorf("%s, shown again: %q", name, got)
		}
	}
}

func TestReadable(t *testing.T) {
	var read veil
	v := newVCenter(t, true, property.Options{Readable: read.allows}, small)
	c := v.login(t)
	vms := v.vms()
	read.set(vms[1], true)
	w := newWatch(t, own(t, c), spec("VirtualMachine", []string{"summary.config.numCpu"}, vms...))
	expect(t, w.next(),
		"enter "+vms[0].Value, "  assign summary.config.numCpu=1",
		"enter "+vms[1].Value, "  missing summary.config.numCpu")

	read.set(vms[0], true)
	read.set(vms[1], false)
	v.service.Recheck()
	set := w.next()
	got := lines(set)
	if len(got) == 4 && got[0] != "modify "+vms[0].Value { // they are compared in no order
		got = append(got[2:], got[:2]...)
	}
	if d := cmp.Diff([]string{
		"modify " + vms[0].Value, "  missing summary.config.numCpu",
		"modify " + vms[1].Value, "  assign summary.config.numCpu=1",
	}, got); d != "" {
		t.Errorf("updates (-want +got):\n%s", d)
	}

	res, err := pc.DefaultCollector(c).RetrieveProperties(t.Context(), types.RetrieveProperties{
		SpecSet: []types.PropertyFilterSpec{spec("VirtualMachine", []string{"name"}, vms[0]).Spec},
	})
	if err != nil {
		t.Fatal(err)
	}
	if o := res.Returnval[0]; len(o.PropSet) != 0 || len(o.MissingSet) != 1 {
		t.Errorf("retrieve: got %+v, want the property missing", o)
	} else if _, ok := o.MissingSet[0].Fault.Fault.(*types.NoPermission); !ok {
		t.Errorf("missing for %T", o.MissingSet[0].Fault.Fault)
	}
}
