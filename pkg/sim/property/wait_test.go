package property_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	pc "github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/race"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/property"
)

// lines writes an update set down, one change a line.
func lines(set *types.UpdateSet) []string {
	var out []string
	if set == nil {
		return out
	}
	for _, fs := range set.FilterSet {
		for _, u := range fs.ObjectSet {
			out = append(out, fmt.Sprintf("%s %s", u.Kind, u.Obj.Value))
			for _, c := range u.ChangeSet {
				out = append(out, fmt.Sprintf("  %s %s=%v", c.Op, c.Name, c.Val))
			}
			for _, m := range u.MissingSet {
				out = append(out, "  missing "+m.Path)
			}
		}
		for _, m := range fs.MissingSet {
			out = append(out, "missing "+m.Obj.Value)
		}
	}
	return out
}

func expect(t *testing.T, set *types.UpdateSet, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, lines(set)); d != "" {
		t.Errorf("updates (-want +got):\n%s", d)
	}
}

func TestModifyCarriesWhatChanged(t *testing.T) {
	v := newVCenter(t, true, property.Options{}, nil)
	vm := v.vms()[0]
	w := newWatch(t, own(t, v.login(t)), spec("VirtualMachine", []string{"name", "guest.ipAddress", "guest.hostName", "guest", "nope"}, vm))
	w.next()

	v.set(vm, change("guest.ipAddress", "10.0.0.9"), change("guest.hostName", "h"))
	set := w.next()
	if got := lines(set); len(got) != 4 || got[1] != "  assign guest.ipAddress=10.0.0.9" || got[2] != "  assign guest.hostName=h" {
		t.Errorf("got %q", got)
	}

	// The same value again is no change; a coarser name is narrowed to what changed.
	v.set(vm, change("guest.hostName", "h"), change("name", "other"))
	expect(t, w.next(), "modify "+vm.Value, "  assign name=other")
	v.set(vm, change("guest", &types.GuestInfo{HostName: "h"}))
	set = w.next()
	if got := lines(set); len(got) != 3 || got[1] != "  assign guest.ipAddress=<nil>" || !strings.HasPrefix(got[2], "  assign guest=") {
		t.Errorf("unset: got %q", got)
	}

	v.set(vm, change("config.annotation", "not asked for"))
	if set, err := w.ask(0); set != nil || err != nil {
		t.Errorf("got %v, %v for a property nobody asked for", lines(set), err)
	}
}

func TestEnterCarriesUnsetAndMissing(t *testing.T) {
	v := newVCenter(t, true, property.Options{}, nil)
	vm := v.vms()[0]
	v.set(vm, change("guest.ipAddress", ""), change("name", "a"))
	gone := ref("VirtualMachine", "vm-none")
	f := spec("VirtualMachine", []string{"name", "guest.ipAddress", "nope"}, vm, gone)
	f.Spec.ReportMissingObjectsInResults = new(true)
	w := newWatch(t, own(t, v.login(t)), f)
	expect(t, w.next(),
		"enter "+vm.Value, "  assign name=a", "  assign guest.ipAddress=<nil>", "  missing nope",
		"missing vm-none")
}

func TestPartialUpdates(t *testing.T) {
	v := newVCenter(t, true, property.Options{}, nil)
	vm := v.vms()[0]
	partial, whole := spec("VirtualMachine", []string{"summary.quickStats"}, vm), spec("VirtualMachine", []string{"summary.quickStats"}, vm)
	partial.PartialUpdates = true
	w := newWatch(t, own(t, v.login(t)), partial, whole)
	w.next()
	v.set(vm, change("summary.quickStats.overallCpuUsage", int32(77)))
	got := lines(w.next())
	if len(got) != 4 || got[1] != "  assign summary.quickStats.overallCpuUsage=77" || !strings.HasPrefix(got[3], "  assign summary.quickStats={") {
		t.Errorf("got %q", got)
	}
}

func TestSeveralFiltersAndOneAddedWhileWaiting(t *testing.T) {
	v := newVCenter(t, true, property.Options{}, nil)
	vms := v.vms()
	c := v.login(t)
	p := own(t, c)
	w := newWatch(t, p, spec("VirtualMachine", []string{"name"}, vms[0]), spec("VirtualMachine", []string{"name"}, vms[1]))
	if n := len(w.next().FilterSet); n != 2 {
		t.Fatalf("%d filters answered, want 2", n)
	}

	got := make(chan *types.UpdateSet, 1)
	go func() {
		set, err := w.ask(20)
		if err != nil {
			t.Error(err)
		}
		got <- set
	}()
	// The default collector's client is another object here: the wait of this
	// one holds a lock of the govmomi client.
	late, err := methods.CreateFilter(t.Context(), c, func() *types.CreateFilter {
		f := spec("VirtualMachine", []string{"runtime.powerState"}, vms[0])
		f.This = p.Reference()
		return &f
	}())
	if err != nil {
		t.Fatal(err)
	}
	expect(t, <-got, "enter "+vms[0].Value, "  assign runtime.powerState=poweredOn")

	if _, err := methods.DestroyPropertyFilter(t.Context(), c, &types.DestroyPropertyFilter{This: late.Returnval}); err != nil {
		t.Fatal(err)
	}
	v.set(vms[0], change("runtime.powerState", types.VirtualMachinePowerStateSuspended))
	v.set(vms[1], change("name", "x"))
	expect(t, w.next(), "modify "+vms[1].Value, "  assign name=x")
}

func TestTruncation(t *testing.T) {
	v := newVCenter(t, true, property.Options{}, func(m *simulator.Model) { small(m); m.Machine = 18 })
	vms := v.vms()
	p := own(t, v.login(t))
	if _, err := p.CreateFilter(t.Context(), spec("VirtualMachine", []string{"name"}, vms...)); err != nil {
		t.Fatal(err)
	}
	pages := func(version string) ([]int, string) {
		var sizes []int
		for {
			set, err := p.WaitForUpdates(t.Context(), version, &types.WaitOptions{MaxObjectUpdates: 7, MaxWaitSeconds: types.NewInt32(5)})
			if err != nil {
				t.Fatal(err)
			}
			version = set.Version
			n := 0
			for _, fs := range set.FilterSet {
				n += len(fs.ObjectSet)
			}
			sizes = append(sizes, n)
			if set.Truncated == nil || !*set.Truncated {
				return sizes, version
			}
		}
	}
	sizes, version := pages("")
	if d := cmp.Diff([]int{7, 7, 4}, sizes); d != "" {
		t.Errorf("initial (-want +got):\n%s", d)
	}
	for i, vm := range vms {
		v.set(vm, change("name", fmt.Sprint(i)))
	}
	sizes, _ = pages(version)
	if d := cmp.Diff([]int{7, 7, 4}, sizes); d != "" {
		t.Errorf("changes (-want +got):\n%s", d)
	}
}

// vCenter answers at most 100 objects at a time.
func TestDefaultLimit(t *testing.T) {
	race.SkipSlow(t)
	v := newVCenter(t, true, property.Options{}, func(m *simulator.Model) { small(m); m.Machine = 102 })
	w := newWatch(t, own(t, v.login(t)), spec("VirtualMachine", []string{"name"}, v.vms()...))
	first := w.next()
	if n := len(first.FilterSet[0].ObjectSet); n != 100 || first.Truncated == nil {
		t.Errorf("first answer: %d objects, truncated %v", n, first.Truncated)
	}
	if second := w.next(); len(second.FilterSet[0].ObjectSet) != 2 || second.Truncated != nil {
		t.Errorf("second answer: %d objects, truncated %v", len(second.FilterSet[0].ObjectSet), second.Truncated)
	}
}

func TestVersions(t *testing.T) {
	v := newVCenter(t, true, property.Options{}, nil)
	vm := v.vms()[0]
	p := own(t, v.login(t))
	if _, err := p.CreateFilter(t.Context(), spec("VirtualMachine", []string{"name"}, vm)); err != nil {
		t.Fatal(err)
	}
	ask := func(version string) (*types.UpdateSet, error) {
		return p.WaitForUpdates(t.Context(), version, &types.WaitOptions{MaxWaitSeconds: types.NewInt32(0)})
	}
	refused := func(version string) {
		t.Helper()
		if _, err := ask(version); !strings.Contains(fault(err), "InvalidCollectorVersion") {
			t.Errorf("version %q: got %v, want InvalidCollectorVersion", version, err)
		}
	}
	refused("never given")
	one, err := ask("")
	if err != nil {
		t.Fatal(err)
	}
	v.set(vm, change("name", "two"))
	two, err := ask(one.Version)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, two, "modify "+vm.Value, "  assign name=two")

	// The client lost the answer and asks again, even after another change.
	v.set(vm, change("name", "three"))
	lost, err := ask(one.Version)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(lines(two), lines(lost)); d != "" || lost.Version != two.Version {
		t.Errorf("again (-want +got):\n%s", d)
	}
	three, err := ask(two.Version)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, three, "modify "+vm.Value, "  assign name=three")

	refused(one.Version)
	begun, err := ask("")
	if err != nil {
		t.Fatal(err)
	}
	expect(t, begun, "enter "+vm.Value, "  assign name=three")
}

func TestCheckForUpdates(t *testing.T) {
	v := newVCenter(t, true, property.Options{}, nil)
	vm := v.vms()[0]
	c := v.login(t)
	w := newWatch(t, own(t, c), spec("VirtualMachine", []string{"name"}, vm))
	check := func(version string) *types.UpdateSet {
		t.Helper()
		res, err := methods.CheckForUpdates(t.Context(), c, &types.CheckForUpdates{This: w.pc.Reference(), Version: version})
		if err != nil {
			t.Fatal(err)
		}
		return res.Returnval
	}
	first := check("")
	if len(lines(first)) != 2 {
		t.Errorf("first: got %q", lines(first))
	}
	if set := check(first.Version); set != nil {
		t.Errorf("nothing changed: got %q", lines(set))
	}
	v.set(vm, change("name", "x"))
	expect(t, check(first.Version), "modify "+vm.Value, "  assign name=x")
}

func TestBadOptions(t *testing.T) {
	v := newVCenter(t, true, property.Options{}, nil)
	p := own(t, v.login(t))
	for name, o := range map[string]*types.WaitOptions{
		"wait":    {MaxWaitSeconds: types.NewInt32(-1)},
		"objects": {MaxObjectUpdates: -1},
	} {
		if _, err := p.WaitForUpdates(t.Context(), "", o); !strings.Contains(fault(err), "InvalidArgument") {
			t.Errorf("%s: got %v, want InvalidArgument", name, err)
		}
	}
}

// An object that is taken out of the inventory and put back leaves and enters.
func TestObjectVanishesAndReturns(t *testing.T) {
	v := newVCenter(t, true, property.Options{}, nil)
	vm := v.vms()[0]
	c := v.login(t)
	cv, err := view.NewManager(c).CreateContainerView(t.Context(), c.ServiceContent.RootFolder, []string{"VirtualMachine"}, true)
	if err != nil {
		t.Fatal(err)
	}
	single := newWatch(t, own(t, c), spec("VirtualMachine", []string{"name"}, vm))
	viewed := newWatch(t, own(t, c), viewSpec(cv.Reference(), "VirtualMachine", "name"))
	single.next()
	viewed.next()

	obj := v.Map.Get(vm)
	v.Map.Remove(v.call(), vm)
	expect(t, single.next(), "leave "+vm.Value)
	expect(t, viewed.next(), "leave "+vm.Value)

	v.Map.Put(obj)
	for name, w := range map[string]*watch{"single": single, "viewed": viewed} {
		if got := lines(w.next()); len(got) != 2 || got[0] != "enter "+vm.Value {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

// vcsim appends to host.vm without telling: the watch sees it all the same.
func TestUnannouncedList(t *testing.T) {
	v := newVCenter(t, true, property.Options{}, nil)
	c := v.login(t)
	vm := v.Map.Get(v.vms()[0]).(*simulator.VirtualMachine)
	host := *vm.Runtime.Host
	w := newWatch(t, own(t, c), spec("HostSystem", []string{"vm"}, host))
	w.next()
	if !strings.Contains(w.world[host.String()]["vm"], vm.Self.Value) {
		t.Fatalf("host: %v", w.world)
	}
	ctx := v.call()
	task := vm.PowerOffVMTask(ctx, &types.PowerOffVM_Task{This: vm.Self}).(*methods.PowerOffVM_TaskBody).Res.Returnval
	v.Map.Get(task).(*simulator.Task).Wait()
	task = vm.DestroyTask(ctx, &types.Destroy_Task{This: vm.Self}).(*methods.Destroy_TaskBody).Res.Returnval
	v.Map.Get(task).(*simulator.Task).Wait()
	w.until("VM off the host's list", func(s world) bool { return !strings.Contains(s[host.String()]["vm"], vm.Self.Value) })
}

// The property filter of the collector can be read, and is the session's own.
func TestCollectorShowsItsFilters(t *testing.T) {
	v := newVCenter(t, true, property.Options{}, nil)
	c, other := v.login(t), v.login(t)
	f, err := pc.DefaultCollector(c).CreateFilter(t.Context(), spec("VirtualMachine", []string{"name"}, v.vms()[0]))
	if err != nil {
		t.Fatal(err)
	}
	read := func(from *pc.Collector) []types.ManagedObjectReference {
		var out []types.ObjectContent
		if err := from.Retrieve(t.Context(), []types.ManagedObjectReference{from.Reference()}, []string{"filter"}, &out); err != nil {
			t.Fatal(err)
		}
		return out[0].PropSet[0].Val.(types.ArrayOfManagedObjectReference).ManagedObjectReference
	}
	if got := read(pc.DefaultCollector(c)); len(got) != 1 || got[0] != f.Reference() {
		t.Errorf("got %v", got)
	}
	if got := read(pc.DefaultCollector(other)); len(got) != 0 {
		t.Errorf("another session sees %v", got)
	}
}
