package property_test

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	pc "github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/task"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/property"
)

// asker is what a test of reading clients works with.
type asker struct {
	t *testing.T
	*vcenter
	c *vim25.Client
	p *pc.Collector
}

func (a asker) must(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatal(err)
	}
}

// all are the references of a type, by value.
func (a asker) all(kind string) []types.ManagedObjectReference {
	var refs []types.ManagedObjectReference
	for _, e := range a.Map.All(kind) {
		refs = append(refs, e.Reference())
	}
	slices.SortFunc(refs, func(x, y types.ManagedObjectReference) int { return cmpString(x.Value, y.Value) })
	return refs
}

func cmpString(a, b string) int {
	if a < b {
		return -1
	}
	if a > b {
		return 1
	}
	return 0
}

func sorted(names []string) []string {
	sort.Strings(names)
	return names
}

// What clients read must read the same with vcsim's own collector and views.
func TestConformReaders(t *testing.T) {
	var sides [2]asker
	for i, ours := range []bool{false, true} {
		v := newVCenter(t, ours, property.Options{}, func(m *simulator.Model) {
			m.Pool, m.App, m.Folder, m.Portgroup, m.Pod = 1, 1, 1, 1, 1
			m.ClusterHost = 1 // VMs are placed at random
		})
		c := v.login(t)
		sides[i] = asker{t, v, c, pc.DefaultCollector(c)}
	}
	for name, read := range readers() {
		t.Run(name, func(t *testing.T) {
			var got [2]any
			for i, a := range sides {
				a.t = t
				got[i] = read(t.Context(), a)
			}
			if d := cmp.Diff(got[0], got[1]); d != "" {
				t.Errorf("outcome (-stock +ours):\n%s", d)
			}
			if fmt.Sprint(got[1]) == "[]" {
				t.Error("nothing was read: the case shows nothing")
			}
		})
	}
}

func readers() map[string]func(context.Context, asker) any {
	found := func(a asker, n int, path func(int) string, err error) any {
		a.must(err)
		var paths []string
		for i := range n {
			paths = append(paths, path(i))
		}
		return sorted(paths)
	}
	return map[string]func(context.Context, asker) any{
		// govmomi: find, list
		"finder, every VM": func(ctx context.Context, a asker) any {
			l, err := find.NewFinder(a.c).VirtualMachineList(ctx, "/...")
			return found(a, len(l), func(i int) string { return l[i].InventoryPath }, err)
		},
		"finder, hosts by pattern": func(ctx context.Context, a asker) any {
			l, err := find.NewFinder(a.c).HostSystemList(ctx, "/F0/DC0/host/F0/*/*")
			return found(a, len(l), func(i int) string { return l[i].InventoryPath }, err)
		},
		"finder, everything below": func(ctx context.Context, a asker) any {
			l, err := find.NewFinder(a.c).ManagedObjectListChildren(ctx, "/F0/DC0/...")
			return found(a, len(l), func(i int) string { return l[i].Path + l[i].Object.Reference().Type }, err)
		},
		"finder, networks": func(ctx context.Context, a asker) any {
			l, err := find.NewFinder(a.c).NetworkList(ctx, "/F0/DC0/network/...")
			return found(a, len(l), func(i int) string { return l[i].GetInventoryPath() }, err)
		},
		"finder, datastores and clusters of them": func(ctx context.Context, a asker) any {
			l, err := find.NewFinder(a.c).DatastoreList(ctx, "/F0/DC0/datastore/...")
			return found(a, len(l), func(i int) string { return l[i].InventoryPath }, err)
		},
		"finder, pools": func(ctx context.Context, a asker) any {
			l, err := find.NewFinder(a.c).ResourcePoolList(ctx, "/F0/DC0/host/F0/*/Resources/*")
			return found(a, len(l), func(i int) string { return l[i].InventoryPath }, err)
		},
		"finder, by reference": func(ctx context.Context, a asker) any {
			var paths []string
			for _, ref := range a.vms() {
				e, err := find.NewFinder(a.c).Element(ctx, ref)
				a.must(err)
				paths = append(paths, e.Path)
			}
			return paths
		},
		"ancestors": func(ctx context.Context, a asker) any {
			var names []string
			for _, ref := range append(a.vms(), a.all("HostSystem")...) {
				up, err := mo.Ancestors(ctx, a.c, a.c.ServiceContent.PropertyCollector, ref)
				a.must(err)
				for _, e := range up {
					names = append(names, e.Name)
				}
			}
			return names
		},
		// govmomi: object
		"object helpers": func(ctx context.Context, a asker) any {
			vm := object.NewVirtualMachine(a.c, a.vms()[0])
			var out []any
			note := func(v any, err error) { a.must(err); out = append(out, v) }
			note(vm.ObjectName(ctx))
			note(vm.PowerState(ctx))
			host, err := vm.HostSystem(ctx)
			note(host.Reference(), err)
			pool, err := vm.ResourcePool(ctx)
			note(pool.Reference(), err)
			devices, err := vm.Device(ctx)
			note(len(devices), err)
			note(vm.IsToolsRunning(ctx))
			owner, err := pool.Owner(ctx)
			note(owner.Reference(), err)
			ds, err := object.NewComputeResource(a.c, owner.Reference()).Datastores(ctx)
			note(len(ds), err)
			hosts, err := object.NewComputeResource(a.c, owner.Reference()).Hosts(ctx)
			note(len(hosts), err)
			return out
		},
		"datastore's hosts": func(ctx context.Context, a asker) any {
			hosts, err := object.NewDatastore(a.c, a.all("Datastore")[0]).AttachedHosts(ctx)
			a.must(err)
			return len(hosts)
		},
		"option manager, licenses, about": func(ctx context.Context, a asker) any {
			var om mo.OptionManager
			a.must(a.p.RetrieveOne(ctx, *a.c.ServiceContent.Setting, []string{"setting"}, &om))
			var lm mo.LicenseManager
			a.must(a.p.RetrieveOne(ctx, *a.c.ServiceContent.LicenseManager, []string{"licenses"}, &lm))
			var si mo.ServiceInstance
			a.must(a.p.RetrieveOne(ctx, vim25.ServiceInstance, []string{"content"}, &si))
			return []any{len(om.Setting), len(lm.Licenses), si.Content.About.ApiType}
		},
		// govmomi: property
		"retrieve many with a filter": func(ctx context.Context, a asker) any {
			var vms []mo.VirtualMachine
			a.must(a.p.RetrieveWithFilter(ctx, a.vms(), []string{"name"}, &vms, pc.Match{"runtime.powerState": "poweredOn", "name": "*VM1"}))
			var names []string
			for _, vm := range vms {
				names = append(names, vm.Name)
			}
			return names
		},
		"one by one, twice": func(ctx context.Context, a asker) any {
			// Tests of govmomi's own: the default collector keeps nothing between retrievals.
			var out []string
			for _, ref := range a.vms()[:2] {
				var vm mo.VirtualMachine
				a.must(a.p.RetrieveOne(ctx, ref, []string{"name"}, &vm))
				a.must(a.p.RetrieveOne(ctx, ref, []string{"name", "config.hardware.numCPU"}, &vm))
				out = append(out, vm.Name, fmt.Sprint(vm.Config.Hardware.NumCPU))
			}
			return out
		},
		"no property named": func(ctx context.Context, a asker) any {
			var vm mo.VirtualMachine
			a.must(a.p.RetrieveOne(ctx, a.vms()[0], nil, &vm))
			return []any{vm.Name, len(vm.Config.Hardware.Device), vm.Guest != nil, len(vm.Network)}
		},
		// govmomi: view
		"list view of a container view": func(ctx context.Context, a asker) any {
			m := view.NewManager(a.c)
			cv, err := m.CreateContainerView(ctx, a.c.ServiceContent.RootFolder, []string{"VirtualMachine"}, true)
			a.must(err)
			lv, err := m.CreateListView(ctx, []types.ManagedObjectReference{cv.Reference()})
			a.must(err)
			res, err := methods.RetrievePropertiesEx(ctx, a.c, &types.RetrievePropertiesEx{This: a.p.Reference(), SpecSet: []types.PropertyFilterSpec{{
				PropSet: []types.PropertySpec{{Type: "VirtualMachine", PathSet: []string{"name"}}},
				ObjectSet: []types.ObjectSpec{{Obj: lv.Reference(), Skip: new(true), SelectSet: []types.BaseSelectionSpec{
					&types.TraversalSpec{Type: "ListView", Path: "view", SelectSet: []types.BaseSelectionSpec{
						&types.TraversalSpec{Type: "ContainerView", Path: "view"},
					}},
				}}},
			}}})
			a.must(err)
			return len(res.Returnval.Objects)
		},
		"container views of every shape": func(ctx context.Context, a asker) any {
			var out []string
			for _, kind := range []string{"Folder", "Datacenter", "ClusterComputeResource", "ComputeResource", "ResourcePool", "HostSystem", "StoragePod"} {
				for _, container := range a.all(kind) {
					for _, want := range [][]string{nil, {"VirtualMachine"}, {"ManagedEntity"}, {"ComputeResource"}, {"Network", "Datastore"}, {"ResourcePool"}} {
						for _, recursive := range []bool{false, true} {
							cv, err := view.NewManager(a.c).CreateContainerView(ctx, container, want, recursive)
							a.must(err)
							var shown mo.ContainerView
							a.must(a.p.RetrieveOne(ctx, cv.Reference(), []string{"view", "container", "type", "recursive"}, &shown))
							values := make([]string, 0, len(shown.View))
							for _, ref := range shown.View {
								values = append(values, ref.Value)
							}
							out = append(out, fmt.Sprint(shown.Container, shown.Type, shown.Recursive, sorted(values)))
							a.must(cv.Destroy(ctx))
						}
					}
				}
			}
			return out
		},
		"views that cannot be": func(ctx context.Context, a asker) any {
			m := view.NewManager(a.c)
			_, container := m.CreateContainerView(ctx, a.vms()[0], nil, true)
			_, kind := m.CreateContainerView(ctx, a.c.ServiceContent.RootFolder, []string{"Task"}, true)
			_, gone := m.CreateContainerView(ctx, ref("Folder", "group-none"), nil, true)
			_, list := m.CreateListView(ctx, []types.ManagedObjectReference{ref("VirtualMachine", "vm-none")})
			return []bool{container != nil, kind != nil, gone != nil, list != nil}
		},
		"list view, changed and reset": func(ctx context.Context, a asker) any {
			vms := a.vms()
			lv, err := view.NewManager(a.c).CreateListView(ctx, vms[:1])
			a.must(err)
			bad, err := lv.Add(ctx, []types.ManagedObjectReference{vms[1], ref("Task", "task-none")})
			a.must(err)
			_, err = lv.Remove(ctx, vms[:1])
			a.must(err)
			out := []any{len(bad)}
			_, err = lv.Reset(ctx, vms[2:4])
			a.must(err)
			var shown mo.ListView
			a.must(a.p.RetrieveOne(ctx, lv.Reference(), nil, &shown))
			return append(out, len(shown.View))
		},
		// task history, as govc tasks reads it
		"task history": func(ctx context.Context, a asker) any {
			vm := object.NewVirtualMachine(a.c, a.vms()[0])
			t, err := vm.PowerOff(ctx)
			finish(a.t, t, err)
			t, err = vm.PowerOn(ctx)
			finish(a.t, t, err)
			col, err := task.NewManager(a.c).CreateCollectorForTasks(ctx, types.TaskFilterSpec{
				Entity: &types.TaskFilterSpecByEntity{Entity: vm.Reference(), Recursion: types.TaskFilterSpecRecursionOptionSelf},
			})
			a.must(err)
			page, err := col.LatestPage(ctx)
			a.must(err)
			var out []string
			for _, info := range page {
				out = append(out, info.DescriptionId+string(info.State))
			}
			a.must(col.Destroy(ctx))
			return out
		},
		// upstream CPI and CSI
		"CPI, a VM": func(ctx context.Context, a asker) any {
			var vm mo.VirtualMachine
			a.must(a.p.RetrieveOne(ctx, a.vms()[0], []string{"guest", "summary", "config.hardware", "resourcePool", "runtime.host"}, &vm))
			return []any{vm.Summary.Config.Name, vm.Guest.GuestState, vm.Config.Hardware.MemoryMB, vm.ResourcePool.Value, len(vm.Config.Hardware.Device)}
		},
		"CSI, datastores of hosts": func(ctx context.Context, a asker) any {
			var hosts []mo.HostSystem
			a.must(a.p.Retrieve(ctx, a.all("HostSystem"), []string{"datastore", "runtime", "summary", "configManager.vsanSystem"}, &hosts))
			var out []any
			for _, h := range hosts {
				var ds []mo.Datastore
				a.must(a.p.Retrieve(ctx, h.Datastore, []string{"info", "summary", "customValue"}, &ds))
				out = append(out, len(h.Datastore), h.Runtime.ConnectionState, len(ds), ds[0].Summary.Name)
			}
			return out
		},
		"CSI, hosts of a cluster": func(ctx context.Context, a asker) any {
			var cr mo.ClusterComputeResource
			a.must(a.p.RetrieveOne(ctx, a.all("ClusterComputeResource")[0], []string{"host", "configurationEx", "summary"}, &cr))
			return []any{len(cr.Host), cr.ConfigurationEx != nil}
		},
		"CSI, disks of a VM": func(ctx context.Context, a asker) any {
			var vm mo.VirtualMachine
			a.must(a.p.RetrieveOne(ctx, a.vms()[0], []string{"config.hardware.device", "layoutEx.file", "snapshot"}, &vm))
			return []any{len(object.VirtualDeviceList(vm.Config.Hardware.Device).SelectByType((*types.VirtualDisk)(nil))), vm.Snapshot == nil}
		},
	}
}
