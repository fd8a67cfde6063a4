package property_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/object"
	pc "github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/property"
)

// Random operations through the public API, against an inventory so simple that
// it is plainly right. At every stop, each watcher's folded updates equal a
// fresh retrieval, and both equal the simple inventory. The seed is printed.
func TestModel(t *testing.T) {
	seeds := []uint64{1, 2, 3}
	operations := 160
	if testing.Short() {
		seeds, operations = seeds[:1], 60
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			m := newModel(t, seed)
			for n := range operations {
				m.step()
				if n%20 == 19 {
					m.check()
				}
				if t.Failed() {
					t.Fatalf("seed %d, after operation %d", seed, n)
				}
			}
		})
	}
}

// entry is what the simple inventory knows of an object.
type entry struct {
	name   string
	folder types.ManagedObjectReference
	on     bool
	note   string
}

type model struct {
	t       *testing.T
	v       *vcenter
	c       *vim25.Client
	rnd     *rand.Rand
	made    int
	pool    *object.ResourcePool
	root    types.ManagedObjectReference // VM folder
	folders map[types.ManagedObjectReference]*entry
	vms     map[types.ManagedObjectReference]*entry
	watches []*modelWatch
}

// modelWatch is a watcher with what it must see by the simple inventory; nil
// where only the retrieval is compared.
type modelWatch struct {
	*watch
	c      *vim25.Client
	what   string
	filter types.CreateFilter
	want   func() map[types.ManagedObjectReference]bool
	end    func()
}

func newModel(t *testing.T, seed uint64) *model {
	v := newVCenter(t, true, property.Options{}, func(m *simulator.Model) { m.Host, m.Cluster, m.Machine = 0, 1, 2 })
	m := &model{
		t: t, v: v, c: v.login(t), rnd: rand.New(rand.NewPCG(seed, seed)),
		folders: make(map[types.ManagedObjectReference]*entry),
		vms:     make(map[types.ManagedObjectReference]*entry),
	}
	m.pool = object.NewResourcePool(m.c, v.Map.Any("ResourcePool").Reference())
	folder, err := v.datacenter(t, m.c)
	m.must(err)
	m.root = folder.Reference()
	m.folders[m.root] = &entry{}
	for _, ref := range v.vms() {
		vm := v.Map.Get(ref).(*simulator.VirtualMachine)
		m.vms[ref] = &entry{name: vm.Name, folder: m.root, on: true, note: vm.Config.Annotation}
	}
	for range 3 {
		m.watchContainer(m.root)
	}
	m.watchList()
	m.watchFolders()
	m.watchLists()
	return m
}

func (m *model) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

// pick chooses one of a set, the same in every run with the seed.
func (m *model) pick(set map[types.ManagedObjectReference]*entry) (types.ManagedObjectReference, *entry) {
	var refs []types.ManagedObjectReference
	for ref := range set {
		refs = append(refs, ref)
	}
	slices.SortFunc(refs, func(a, b types.ManagedObjectReference) int {
		return cmpString(fmt.Sprintf("%09s", a.Value), fmt.Sprintf("%09s", b.Value))
	})
	ref := refs[m.rnd.IntN(len(refs))]
	return ref, set[ref]
}

func (m *model) step() {
	ctx := m.t.Context()
	m.made++
	name := fmt.Sprintf("thing-%d", m.made)
	switch op := m.rnd.IntN(13); {
	case op < 3 || len(m.vms) < 2:
		where, _ := m.pick(m.folders)
		task, err := object.NewFolder(m.c, where).CreateVM(ctx, types.VirtualMachineConfigSpec{
			Name: name, Files: &types.VirtualMachineFileInfo{VmPathName: "[LocalDS_0]"},
		}, m.pool, nil)
		made := finish(m.t, task, err).Result.(types.ManagedObjectReference)
		m.vms[made] = &entry{name: name, folder: where}
	case op == 3:
		where, _ := m.pick(m.folders)
		sub, err := object.NewFolder(m.c, where).CreateFolder(ctx, name)
		m.must(err)
		m.folders[sub.Reference()] = &entry{name: name, folder: where}
		m.watchContainer(sub.Reference())
	case op == 4:
		ref, e := m.pick(m.vms)
		if e.on {
			task, err := object.NewVirtualMachine(m.c, ref).PowerOff(ctx)
			finish(m.t, task, err)
		}
		task, err := object.NewVirtualMachine(m.c, ref).Destroy(ctx)
		finish(m.t, task, err)
		delete(m.vms, ref)
		m.v.settle()
	case op == 5:
		ref, e := m.pick(m.vms)
		task, err := object.NewVirtualMachine(m.c, ref).Rename(ctx, name)
		finish(m.t, task, err)
		e.name = name
	case op == 6 || op == 7:
		ref, e := m.pick(m.vms)
		power := object.NewVirtualMachine(m.c, ref).PowerOn
		if e.on {
			power = object.NewVirtualMachine(m.c, ref).PowerOff
		}
		task, err := power(ctx)
		finish(m.t, task, err)
		e.on = !e.on
	case op == 8:
		ref, e := m.pick(m.vms)
		task, err := object.NewVirtualMachine(m.c, ref).Reconfigure(ctx, types.VirtualMachineConfigSpec{
			Annotation: name, ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: "k", Value: name}},
		})
		finish(m.t, task, err)
		e.note = name
	case op == 9 || op == 10:
		ref, e := m.pick(m.vms)
		where, _ := m.pick(m.folders)
		task, err := object.NewFolder(m.c, where).MoveInto(ctx, []types.ManagedObjectReference{ref})
		finish(m.t, task, err)
		e.folder = where
	case op == 11:
		if len(m.watches) < 12 {
			where, _ := m.pick(m.folders)
			m.watchContainer(where)
		}
	case op == 12:
		i := m.rnd.IntN(len(m.watches))
		if w := m.watches[i]; w.end != nil && i > 2 {
			w.end()
			m.watches = slices.Delete(m.watches, i, i+1)
		}
	}
}

func (m *model) add(what string, c *vim25.Client, f types.CreateFilter, want func() map[types.ManagedObjectReference]bool, end func()) {
	w := newWatch(m.t, own(m.t, c), f)
	m.watches = append(m.watches, &modelWatch{w, c, what, f, want, end})
	w.next()
}

var modelPaths = []string{"name", "runtime.powerState", "config.annotation", "parent", `config.extraConfig["k"].value`, "config.hardware.device[4000]"}

// watchContainer follows the VMs below a folder, in a separate session.
func (m *model) watchContainer(folder types.ManagedObjectReference) {
	c := m.v.login(m.t)
	cv, err := view.NewManager(c).CreateContainerView(m.t.Context(), folder, []string{"VirtualMachine"}, true)
	m.must(err)
	m.add("container "+folder.Value, c, viewSpec(cv.Reference(), "VirtualMachine", modelPaths...),
		func() map[types.ManagedObjectReference]bool {
			in := make(map[types.ManagedObjectReference]bool)
			for ref, e := range m.vms {
				for at := e.folder; at.Value != ""; at = m.folders[at].folder {
					if at == folder {
						in[ref] = true
					}
				}
			}
			return in
		},
		func() { m.must(cv.Destroy(m.t.Context())) })
}

// watchList follows a list that changes with every check.
func (m *model) watchList() {
	lv, err := view.NewManager(m.c).CreateListView(m.t.Context(), nil)
	m.must(err)
	listed := make(map[types.ManagedObjectReference]bool)
	m.add("list", m.c, viewSpec(lv.Reference(), "VirtualMachine", modelPaths...),
		func() map[types.ManagedObjectReference]bool {
			in := make(map[types.ManagedObjectReference]bool)
			for range 3 {
				ref, _ := m.pick(m.vms)
				var err error
				if listed[ref] = !listed[ref]; listed[ref] {
					_, err = lv.Add(m.t.Context(), []types.ManagedObjectReference{ref})
				} else {
					_, err = lv.Remove(m.t.Context(), []types.ManagedObjectReference{ref})
				}
				m.must(err)
			}
			for ref, is := range listed {
				if is && m.vms[ref] != nil {
					in[ref] = true
				}
			}
			return in
		}, nil)
}

// watchFolders follows the folders themselves, as clients without views do.
func (m *model) watchFolders() {
	down := &types.TraversalSpec{
		SelectionSpec: types.SelectionSpec{Name: "down"}, Type: "Folder", Path: "childEntity",
		SelectSet: []types.BaseSelectionSpec{&types.SelectionSpec{Name: "down"}},
	}
	m.add("folders", m.c, types.CreateFilter{Spec: types.PropertyFilterSpec{
		PropSet: []types.PropertySpec{
			{Type: "VirtualMachine", PathSet: modelPaths},
			{Type: "Folder", PathSet: []string{"name", "childEntity"}},
		},
		ObjectSet: []types.ObjectSpec{{Obj: m.root, SelectSet: []types.BaseSelectionSpec{down}}},
	}}, func() map[types.ManagedObjectReference]bool {
		in := make(map[types.ManagedObjectReference]bool)
		for ref := range m.vms {
			in[ref] = true
		}
		for ref := range m.folders {
			in[ref] = true
		}
		return in
	}, nil)
}

// watchLists follows the lists that vcsim changes without notice.
func (m *model) watchLists() {
	f := spec("HostSystem", []string{"vm"})
	f.Spec.PropSet = append(f.Spec.PropSet,
		types.PropertySpec{Type: "ResourcePool", PathSet: []string{"vm"}},
		types.PropertySpec{Type: "Datastore", PathSet: []string{"vm"}})
	for _, kind := range []string{"HostSystem", "ResourcePool", "Datastore"} {
		for _, e := range m.v.Map.All(kind) {
			f.Spec.ObjectSet = append(f.Spec.ObjectSet, types.ObjectSpec{Obj: e.Reference()})
		}
	}
	m.add("lists", m.c, f, nil, nil)
}

// check compares every watcher with a retrieval and with the simple inventory.
func (m *model) check() {
	for _, w := range m.watches {
		var want map[types.ManagedObjectReference]bool
		if w.want != nil {
			want = w.want()
		}
		for {
			set, err := w.ask(0)
			m.must(err)
			if set == nil {
				break
			}
		}
		retrieved := retrieve(m.t, w.c, w.pc, w.filter.Spec)
		if d := cmp.Diff(retrieved, w.world); d != "" {
			m.t.Errorf("%s (-retrieved +watched):\n%s", w.what, d)
		}
		if w.want == nil {
			continue
		}
		for ref := range want {
			e := m.vms[ref]
			got := w.world[ref.String()]
			if e == nil {
				e = m.folders[ref]
				if got == nil || ref != m.root && got["name"] != asXML(m.t, e.name) {
					m.t.Errorf("%s: folder %s is %q, want %q", w.what, ref.Value, got["name"], e.name)
				}
				continue
			}
			power := types.VirtualMachinePowerStatePoweredOff
			if e.on {
				power = types.VirtualMachinePowerStatePoweredOn
			}
			if got["name"] != asXML(m.t, e.name) || got["runtime.powerState"] != asXML(m.t, power) ||
				got["parent"] != asXML(m.t, e.folder) || e.note != "" && got["config.annotation"] != asXML(m.t, e.note) {
				m.t.Errorf("%s: VM %s is %v, want %+v", w.what, ref.Value, got, *e)
			}
		}
		if len(w.world) != len(want) {
			m.t.Errorf("%s: %d objects, want %d", w.what, len(w.world), len(want))
		}
	}
}

// retrieve reads now what a filter would have delivered.
func retrieve(t testing.TB, c *vim25.Client, p *pc.Collector, spec types.PropertyFilterSpec) world {
	t.Helper()
	res, err := methods.RetrievePropertiesEx(t.Context(), c, &types.RetrievePropertiesEx{
		This: p.Reference(), SpecSet: []types.PropertyFilterSpec{spec},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := make(world)
	if res.Returnval == nil {
		return got
	}
	for _, o := range res.Returnval.Objects {
		props := make(map[string]string)
		for _, p := range o.PropSet {
			props[p.Name] = asXML(t, p.Val)
		}
		got[o.Obj.String()] = props
	}
	return got
}
