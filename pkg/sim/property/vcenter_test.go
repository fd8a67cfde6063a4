package property_test

import (
	"fmt"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	pc "github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/property"
)

// patienceLimit is how long a test waits for what must happen.
const patienceLimit = 20 * time.Second

// vcenter is a simulated vCenter with or without our collector.
type vcenter struct {
	*simulator.Context
	model   *simulator.Model
	service *property.Service // nil with vcsim's own
	url     *url.URL
}

// newVCenter builds a vCenter of the given size and serves it on the loopback.
// It must not run in parallel: Model.Create writes to variables of its package.
func newVCenter(t testing.TB, ours bool, options property.Options, size func(*simulator.Model)) *vcenter {
	t.Helper()
	m := simulator.VPX()
	if size != nil {
		size(m)
	}
	if err := m.Create(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Remove)
	m.Service.Listen = &url.URL{Host: "127.0.0.1:0"}
	v := &vcenter{Context: m.Service.Context, model: m}
	if ours {
		s, err := property.Install(v.Context, options)
		if err != nil {
			t.Fatal(err)
		}
		v.service = s
	}
	server := m.Service.NewServer()
	v.url = server.URL
	t.Cleanup(func() {
		if v.service != nil {
			v.service.Close() // or the server waits for the long polls
		}
		server.Close()
	})
	return v
}

// small is a vCenter with one host and two VMs that are off.
func small(m *simulator.Model) {
	m.Autostart = false
	m.Host, m.Cluster, m.Machine = 1, 0, 2
}

// call is a context for one operation: vcsim takes the pointer for the owner of
// its locks.
func (v *vcenter) call() *simulator.Context {
	c := *v.Context
	return &c
}

// login opens another session.
func (v *vcenter) login(t testing.TB) *vim25.Client {
	t.Helper()
	u := *v.url
	u.User = simulator.DefaultLogin
	c, err := govmomi.NewClient(t.Context(), &u, true)
	if err != nil {
		t.Fatal(err)
	}
	return c.Client
}

// set changes properties of an object and notifies the watchers.
func (v *vcenter) set(ref types.ManagedObjectReference, changes ...types.PropertyChange) {
	ctx := v.call()
	obj := ctx.Map.Get(ref)
	ctx.WithLock(obj, func() { ctx.Update(obj, changes) })
}

// settle waits for the end of every task. After the destruction of a VM vcsim deletes its files, and reads the datastore without
// a lock: a concurrent creation would be a race in vcsim.
func (v *vcenter) settle() {
	for _, t := range v.Map.AllReference("Task") {
		t.(*simulator.Task).Wait()
	}
}

// vms lists the VMs by name.
func (v *vcenter) vms() []types.ManagedObjectReference {
	all := v.Map.All("VirtualMachine")
	slices.SortFunc(all, func(a, b mo.Entity) int {
		if a.Entity().Name < b.Entity().Name {
			return -1
		}
		return 1
	})
	var refs []types.ManagedObjectReference
	for _, e := range all {
		refs = append(refs, e.Reference())
	}
	return refs
}

func change(name string, val any) types.PropertyChange {
	return types.PropertyChange{Name: name, Val: val}
}

// spec is a filter on single objects.
func spec(kind string, paths []string, refs ...types.ManagedObjectReference) types.CreateFilter {
	f := types.CreateFilter{Spec: types.PropertyFilterSpec{
		PropSet: []types.PropertySpec{{Type: kind, PathSet: paths}},
	}}
	for _, ref := range refs {
		f.Spec.ObjectSet = append(f.Spec.ObjectSet, types.ObjectSpec{Obj: ref})
	}
	return f
}

// viewSpec is a filter on the objects of a view.
func viewSpec(view types.ManagedObjectReference, kind string, paths ...string) types.CreateFilter {
	return types.CreateFilter{Spec: types.PropertyFilterSpec{
		PropSet: []types.PropertySpec{{Type: kind, PathSet: paths}},
		ObjectSet: []types.ObjectSpec{{
			Obj:       view,
			Skip:      new(true),
			SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{Type: view.Type, Path: "view"}},
		}},
	}}
}

// world folds updates: object → property → value as XML. Unset is absent.
type world map[string]map[string]string

func (w world) fold(t testing.TB, set *types.UpdateSet) {
	t.Helper()
	if set == nil {
		return
	}
	for _, fs := range set.FilterSet {
		w.foldObjects(t, fs.ObjectSet)
	}
}

func (w world) foldObjects(t testing.TB, updates []types.ObjectUpdate) {
	t.Helper()
	for _, u := range updates {
		id := u.Obj.String()
		switch u.Kind {
		case types.ObjectUpdateKindLeave:
			delete(w, id)
			continue
		case types.ObjectUpdateKindEnter:
			w[id] = make(map[string]string)
		case types.ObjectUpdateKindModify:
			if w[id] == nil {
				t.Errorf("%s: modify before enter", id)
				w[id] = make(map[string]string)
			}
		}
		for _, c := range u.ChangeSet {
			if c.Val == nil {
				delete(w[id], c.Name)
			} else {
				w[id][c.Name] = asXML(t, c.Val)
			}
		}
	}
}

func asXML(t testing.TB, val any) string {
	t.Helper()
	b, err := xml.Marshal(types.DynamicProperty{Val: val})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// watch is a client's wait loop on a collector, one step at a time.
type watch struct {
	t       testing.TB
	pc      *pc.Collector
	version string
	world   world
	kinds   []types.ObjectUpdateKind
}

func newWatch(t testing.TB, c *pc.Collector, filters ...types.CreateFilter) *watch {
	t.Helper()
	for _, f := range filters {
		if _, err := c.CreateFilter(t.Context(), f); err != nil {
			t.Fatal(err)
		}
	}
	return &watch{t: t, pc: c, world: make(world)}
}

// own creates a separate collector for the watch.
func own(t testing.TB, c *vim25.Client) *pc.Collector {
	t.Helper()
	p, err := pc.DefaultCollector(c).Create(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// ask waits for one answer, at most some seconds.
func (w *watch) ask(seconds int32) (*types.UpdateSet, error) {
	set, err := w.pc.WaitForUpdates(w.t.Context(), w.version, &types.WaitOptions{MaxWaitSeconds: &seconds})
	if err == nil && set != nil {
		w.version = set.Version
		w.world.fold(w.t, set)
		for _, fs := range set.FilterSet {
			for _, u := range fs.ObjectSet {
				w.kinds = append(w.kinds, u.Kind)
			}
		}
	}
	return set, err
}

// next waits for an answer that must come.
func (w *watch) next() *types.UpdateSet {
	w.t.Helper()
	set, err := w.ask(int32(patienceLimit / time.Second))
	if err != nil {
		w.t.Fatal(err)
	}
	if set == nil {
		w.t.Fatal("no update came")
	}
	return set
}

// until waits until the folded world is as asked for.
func (w *watch) until(what string, ok func(world) bool) {
	w.t.Helper()
	deadline := time.Now().Add(patienceLimit)
	for !ok(w.world) {
		if time.Now().After(deadline) {
			w.t.Fatalf("%s: not seen; world: %v", what, w.world)
		}
		if _, err := w.ask(1); err != nil {
			w.t.Fatal(err)
		}
	}
}

func fault(err error) string {
	if err == nil {
		return ""
	}
	return fmt.Sprint(err)
}
