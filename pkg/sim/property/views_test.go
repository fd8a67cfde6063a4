package property_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/object"
	pc "github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/property"
)

// viewList is what a session's view manager shows.
func viewList(t *testing.T, c *vim25.Client) []types.ManagedObjectReference {
	t.Helper()
	var m mo.ViewManager
	if err := pc.DefaultCollector(c).RetrieveOne(t.Context(), *c.ServiceContent.ViewManager, []string{"viewList"}, &m); err != nil {
		t.Fatal(err)
	}
	return m.ViewList
}

func TestViewsAreTheSessionsOwn(t *testing.T) {
	v := newVCenter(t, true, property.Options{}, small)
	c, other := v.login(t), v.login(t)
	cv := vmView(t, c, "VirtualMachine")
	if d := cmp.Diff([]types.ManagedObjectReference{cv.Reference()}, viewList(t, c)); d != "" {
		t.Errorf("views (-want +got):\n%s", d)
	}
	if got := viewList(t, other); len(got) != 0 {
		t.Errorf("another session sees %v", got)
	}
	if err := cv.Destroy(t.Context()); err != nil {
		t.Error(err)
	}
	if got := viewList(t, c); len(got) != 0 {
		t.Errorf("destroyed, and still there: %v", got)
	}
	if err := cv.Destroy(t.Context()); err == nil {
		t.Error("destroyed twice")
	}
}

// However a session ends, nothing of it is left.
func TestNothingIsLeftOfASession(t *testing.T) {
	ends := map[string]func(*testing.T, *vcenter, *vim25.Client){
		"logout": func(t *testing.T, _ *vcenter, c *vim25.Client) {
			if err := session.NewManager(c).Logout(t.Context()); err != nil {
				t.Error(err)
			}
		},
		"ended": func(t *testing.T, v *vcenter, c *vim25.Client) {
			s, err := session.NewManager(c).UserSession(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			v.service.EndSession(s.Key)
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			v := newVCenter(t, true, property.Options{}, small)
			c := v.login(t)
			cv := vmView(t, c, "VirtualMachine")
			w := newWatch(t, own(t, c), viewSpec(cv.Reference(), "VirtualMachine", "name"))
			w.next()
			if got := v.service.Usage(); got.Filters != 1 || got.Views != 1 || got.Collectors == 0 {
				t.Errorf("in use: %+v", got)
			}
			end(t, v, c)
			if got := v.service.Usage(); got != (property.Usage{}) {
				t.Errorf("left: %+v", got)
			}
		})
	}
}

// A client that is gone without a word: its session ends, and some call of
// another finds that out.
func TestDeadClientIsSwept(t *testing.T) {
	v := newVCenter(t, true, property.Options{Idle: 40 * time.Millisecond}, small)
	dead, alive := v.login(t), v.login(t)
	w := newWatch(t, own(t, dead), viewSpec(vmView(t, dead, "VirtualMachine").Reference(), "VirtualMachine", "name"))
	w.next()
	s, err := session.NewManager(dead).UserSession(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := session.NewManager(alive).TerminateSession(t.Context(), []string{s.Key}); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(patienceLimit)
	for v.service.Usage().Views != 0 || v.service.Usage().Filters != 0 {
		if time.Now().After(deadline) {
			t.Fatalf("left: %+v", v.service.Usage())
		}
		var si mo.ServiceInstance
		if err := pc.DefaultCollector(alive).RetrieveOne(t.Context(), vim25.ServiceInstance, []string{"serverClock"}, &si); err != nil {
			t.Fatal(err)
		}
	}
}

// What a view listed leaves the filters on it when it is destroyed.
func TestViewDestroyedUnderAFilter(t *testing.T) {
	v := newVCenter(t, true, property.Options{}, small)
	c := v.login(t)
	lv, err := view.NewManager(c).CreateListView(t.Context(), v.vms())
	if err != nil {
		t.Fatal(err)
	}
	cv := vmView(t, c, "VirtualMachine")
	for name, ref := range map[string]types.ManagedObjectReference{"list": lv.Reference(), "container": cv.Reference()} {
		w := newWatch(t, own(t, c), viewSpec(ref, "VirtualMachine", "name"))
		w.next()
		if _, err := methods.DestroyView(t.Context(), c, &types.DestroyView{This: ref}); err != nil {
			t.Fatal(err)
		}
		w.until(name+" empty", func(s world) bool { return len(s) == 0 })
	}
}

// A list view made of a container view, and made again of another.
func TestListViewFromView(t *testing.T) {
	v := newVCenter(t, true, property.Options{}, small)
	c := v.login(t)
	vms, hosts := vmView(t, c, "VirtualMachine"), vmView(t, c, "HostSystem")
	made, err := methods.CreateListViewFromView(t.Context(), c, &types.CreateListViewFromView{
		This: *c.ServiceContent.ViewManager, View: vms.Reference(),
	})
	if err != nil {
		t.Fatal(err)
	}
	w := newWatch(t, own(t, c), viewSpec(made.Returnval, "ManagedEntity", "name"))
	w.next()
	if len(w.world) != 2 {
		t.Errorf("of VMs: %v", w.world)
	}
	if _, err := methods.ResetListViewFromView(t.Context(), c, &types.ResetListViewFromView{This: made.Returnval, View: hosts.Reference()}); err != nil {
		t.Fatal(err)
	}
	w.until("hosts", func(s world) bool {
		return len(s) == 1 && s[v.Map.Any("HostSystem").Reference().String()] != nil
	})
	if _, err := methods.ResetListViewFromView(t.Context(), c, &types.ResetListViewFromView{This: made.Returnval, View: ref("ListView", "none")}); err == nil {
		t.Error("a view that does not exist was accepted")
	}
}

// The list of a container view is a property: a filter may ask for it.
func TestViewPropertyIsReported(t *testing.T) {
	v := newVCenter(t, true, property.Options{}, small)
	c := v.login(t)
	cv := vmView(t, c, "VirtualMachine")
	w := newWatch(t, own(t, c), spec("ContainerView", []string{"view"}, cv.Reference()))
	w.next()
	before := w.world[cv.Reference().String()]["view"]
	v.Map.Remove(v.call(), v.vms()[0])
	w.until("change of the list", func(s world) bool { return s[cv.Reference().String()]["view"] != before })
}

// A folder that moves takes what is below it into and out of views.
func TestFolderMovesBetweenViews(t *testing.T) {
	v := newVCenter(t, true, property.Options{}, small)
	c := v.login(t)
	root, err := v.datacenter(t, c)
	if err != nil {
		t.Fatal(err)
	}
	create := func(in *object.Folder, name string) *object.Folder {
		f, err := in.CreateFolder(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	left, right := create(root, "left"), create(root, "right")
	box := create(left, "box")
	task, err := create(box, "deep").MoveInto(t.Context(), v.vms()[:1])
	finish(t, task, err)

	watch := func(f *object.Folder) *watch {
		cv, err := view.NewManager(c).CreateContainerView(t.Context(), f.Reference(), []string{"VirtualMachine"}, true)
		if err != nil {
			t.Fatal(err)
		}
		w := newWatch(t, own(t, c), viewSpec(cv.Reference(), "VirtualMachine", "name"))
		if _, err := w.ask(0); err != nil {
			t.Fatal(err)
		}
		return w
	}
	inLeft, inRight := watch(left), watch(right)
	if len(inLeft.world) != 1 || len(inRight.world) != 0 {
		t.Fatalf("before: left %v, right %v", inLeft.world, inRight.world)
	}
	task, err = right.MoveInto(t.Context(), []types.ManagedObjectReference{box.Reference()})
	finish(t, task, err)
	inRight.until("the VM on the right", func(s world) bool { return len(s) == 1 })
	inLeft.until("nothing on the left", func(s world) bool { return len(s) == 0 })
}

// A standalone host that moves into a cluster is below the cluster then, though
// vcsim says nothing of it.
func TestHostMovesIntoCluster(t *testing.T) {
	v := newVCenter(t, true, property.Options{}, func(m *simulator.Model) { m.Autostart, m.Host, m.Cluster, m.Machine = false, 1, 1, 1 })
	c := v.login(t)
	cluster := v.Map.Any("ClusterComputeResource").Reference()
	var alone types.ManagedObjectReference
	for _, h := range v.Map.All("HostSystem") {
		if h.Entity().Parent.Type == "ComputeResource" {
			alone = h.Reference()
		}
	}
	cv, err := view.NewManager(c).CreateContainerView(t.Context(), cluster, []string{"HostSystem"}, true)
	if err != nil {
		t.Fatal(err)
	}
	w := newWatch(t, own(t, c), viewSpec(cv.Reference(), "HostSystem", "name"))
	w.next()
	task, err := object.NewClusterComputeResource(c, cluster).MoveInto(t.Context(), object.NewHostSystem(c, alone))
	finish(t, task, err)
	w.until("the host in the cluster", func(s world) bool { return s[alone.String()] != nil })
}

// An object that is gone when a filter is created is the creator's mistake;
// one that goes later leaves, and a new start finds the rest.
func TestMissingObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDirect(t, property.Options{})
		vms := d.v.vms()
		gone := spec("VirtualMachine", []string{"name"}, ref("VirtualMachine", "vm-none"))
		res := d.p.CreateFilter(d.v.call(), &gone)
		if f := res.Fault(); f == nil {
			t.Error("a filter on nothing was created")
		} else if _, ok := f.Detail.Fault.(*types.ManagedObjectNotFound); !ok {
			t.Errorf("got %T, want ManagedObjectNotFound", f.Detail.Fault)
		}
		d.filter(spec("VirtualMachine", []string{"runtime.powerState"}, vms...))
		zero := types.NewInt32(0)
		first, _ := d.wait("", zero)
		d.v.Map.Remove(d.v.call(), vms[0])
		next, _ := d.wait(first.Version, zero)
		expect(t, next, "leave "+vms[0].Value)
		again, fault := d.wait("", zero)
		if fault != nil {
			t.Fatalf("new start: %T", fault)
		}
		if got := lines(again); !slices.Contains(got, "enter "+vms[1].Value) || len(got) != 2 {
			t.Errorf("new start: %q", got)
		}
	})
}
