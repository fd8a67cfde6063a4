package corrections_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/race"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

const stormy = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: storm}
spec:
  vcenters:
    - name: vc
      reactions: {ha: {enabled: "yes", detect: 10ms, restart: 10ms}}
      datacenters:
        - name: dc
          networks: [{name: nodes}]
          datastores: [{name: shared, capacity: 2Ti}, {name: other, capacity: 2Ti}]
          clusters: [{name: c1, hosts: [{name: "h-{n}", replicas: 4}]}]
          vms: [{name: "vm-{n}", replicas: 6, cluster: c1}]
`

// TestStormOfOperations makes concurrent changes of all kinds, and checks that nothing stalls, that the updates of a watcher add
// up to the inventory, and that lists agree in both directions.
func TestStormOfOperations(t *testing.T) {
	if race.Enabled {
		t.Skip("vcsim itself races when VMs are created and destroyed at once: run it without -race, as make test does, too")
	}
	lab := sim.Start(t, stormy)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := lab.Client("vc")
	finder := find.NewFinder(c.Client)
	dc, err := finder.DefaultDatacenter(ctx)
	if err != nil {
		t.Fatal(err)
	}
	finder.SetDatacenter(dc)
	vms, err1 := finder.VirtualMachineList(ctx, "*")
	hosts, err2 := finder.HostSystemList(ctx, "*/*")
	stores, err3 := finder.DatastoreList(ctx, "*")
	folders, err4 := dc.Folders(ctx)
	cluster, err5 := finder.ClusterComputeResource(ctx, "c1")
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		t.Fatal(err)
	}

	// What a watcher knows.
	cv, err := view.NewManager(c.Client).CreateContainerView(ctx, c.ServiceContent.RootFolder, []string{"VirtualMachine", "HostSystem"}, true)
	if err != nil {
		t.Fatal(err)
	}
	paths := map[string][]string{
		"VirtualMachine": {"name", "runtime.host", "runtime.powerState", "runtime.connectionState", "guest.ipAddress", "parent"},
		"HostSystem":     {"name", "vm", "runtime.connectionState", "runtime.inMaintenanceMode"},
	}
	var specs []types.PropertySpec
	for kind, set := range paths {
		specs = append(specs, types.PropertySpec{Type: kind, PathSet: set})
	}
	filter := types.PropertyFilterSpec{PropSet: specs, ObjectSet: []types.ObjectSpec{{
		Obj: cv.Reference(), Skip: new(true), SelectSet: []types.BaseSelectionSpec{cv.TraversalSpec()},
	}}}
	known := map[types.ManagedObjectReference]map[string]any{}
	var mu sync.Mutex
	watching, stop := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	watched := lab.Client("vc")
	watchedView, err := view.NewManager(watched.Client).CreateContainerView(ctx, c.ServiceContent.RootFolder, []string{"VirtualMachine", "HostSystem"}, true)
	if err != nil {
		t.Fatal(err)
	}
	own := filter
	own.ObjectSet = []types.ObjectSpec{{Obj: watchedView.Reference(), Skip: new(true), SelectSet: []types.BaseSelectionSpec{watchedView.TraversalSpec()}}}
	watcher.Go(func() {
		wait := &property.WaitFilter{CreateFilter: types.CreateFilter{Spec: own}}
		err := property.WaitForUpdates(watching, property.DefaultCollector(watched.Client), wait, func(updates []types.ObjectUpdate) bool {
			mu.Lock()
			defer mu.Unlock()
			for _, u := range updates {
				if u.Kind == types.ObjectUpdateKindLeave {
					delete(known, u.Obj)
					continue
				}
				if known[u.Obj] == nil || u.Kind == types.ObjectUpdateKindEnter {
					known[u.Obj] = map[string]any{}
				}
				for _, p := range u.ChangeSet {
					if p.Val == nil {
						delete(known[u.Obj], p.Name)
					} else {
						known[u.Obj][p.Name] = p.Val
					}
				}
			}
			return false
		})
		if watching.Err() == nil {
			t.Errorf("the watch ended: %v", err)
		}
	})

	end := time.Now().Add(3 * time.Second)
	var storm sync.WaitGroup
	loop := func(name string, f func(n int) error) {
		storm.Go(func() {
			for n := 0; time.Now().Before(end); n++ {
				if err := f(n); errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s stalled", name)
					return
				}
			}
		})
	}
	done := func(task *object.Task, err error) error {
		if err != nil {
			return err
		}
		return task.Wait(ctx)
	}
	for _, vm := range vms {
		loop("power", func(n int) error {
			if n%2 == 0 {
				return done(vm.PowerOff(ctx))
			}
			return done(vm.PowerOn(ctx))
		})
		loop("relocate", func(n int) error {
			host, ds := hosts[n%len(hosts)].Reference(), stores[n/3%2].Reference()
			return done(vm.Relocate(ctx, types.VirtualMachineRelocateSpec{Host: &host, Datastore: &ds}, ""))
		})
	}
	loop("power on all", func(int) error {
		refs := make([]types.ManagedObjectReference, len(vms))
		for i, vm := range vms {
			refs[i] = vm.Reference()
		}
		return done(dc.PowerOnVM(ctx, refs))
	})
	loop("rename", func(n int) error { return done(vms[0].Rename(ctx, fmt.Sprintf("renamed-%d", n))) })
	loop("snapshot", func(n int) error {
		if n%3 == 2 {
			return done(vms[1].RemoveAllSnapshot(ctx, nil))
		}
		return done(vms[1].CreateSnapshot(ctx, "s", "", false, false))
	})
	loop("maintenance", func(n int) error {
		if err := done(hosts[0].EnterMaintenanceMode(ctx, 1, false, nil)); errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		return done(hosts[0].ExitMaintenanceMode(ctx, 1))
	})
	loop("disconnect", func(n int) error {
		if err := done(hosts[1].Disconnect(ctx)); errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		return done(hosts[1].Reconnect(ctx, nil, nil))
	})
	loop("clone", func(n int) error {
		f, err := folders.VmFolder.CreateFolder(ctx, fmt.Sprintf("f-%d", n))
		if err != nil {
			return err
		}
		_ = done(vms[2].Clone(ctx, f, "clone", types.VirtualMachineCloneSpec{}))
		return done(f.Destroy(ctx))
	})
	loop("join", func(n int) error {
		if n > 3 {
			time.Sleep(50 * time.Millisecond)
			return nil
		}
		return done(cluster.AddHost(ctx, types.HostConnectSpec{HostName: fmt.Sprintf("new-%d", n)}, true, nil, nil))
	})
	loop("pool", func(n int) error {
		root, err := cluster.ResourcePool(ctx)
		if err != nil {
			return err
		}
		p, err := root.Create(ctx, fmt.Sprintf("p-%d", n), types.DefaultResourceConfigSpec())
		if err != nil {
			return err
		}
		return done(p.Destroy(ctx))
	})
	storm.Wait()

	// Quiet again: the updates must equal the inventory.
	deadline := time.Now().Add(30 * time.Second)
	for {
		res, err := property.DefaultCollector(c.Client).RetrieveProperties(ctx, types.RetrieveProperties{SpecSet: []types.PropertyFilterSpec{filter}})
		if err != nil {
			t.Fatal(err)
		}
		fresh := map[types.ManagedObjectReference]map[string]any{}
		for _, o := range res.Returnval {
			fresh[o.Obj] = map[string]any{}
			for _, p := range o.PropSet {
				fresh[o.Obj][p.Name] = p.Val
			}
		}
		mu.Lock()
		diff := cmp.Diff(fresh, known)
		mu.Unlock()
		if diff == "" {
			break
		}
		if time.Now().After(deadline) {
			t.Errorf("a watcher's knowledge (-fresh +known):\n%s", diff)
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	stop()
	watcher.Wait()
	consistent(t, ctx, c.Client, cv)
}

// consistent compares the lists of hosts with the hosts of VMs.
func consistent(t *testing.T, ctx context.Context, c *vim25.Client, cv *view.ContainerView) {
	t.Helper()
	var vms []mo.VirtualMachine
	var hosts []mo.HostSystem
	if err := errors.Join(cv.Retrieve(ctx, []string{"VirtualMachine"}, []string{"runtime.host"}, &vms),
		cv.Retrieve(ctx, []string{"HostSystem"}, []string{"vm"}, &hosts)); err != nil {
		t.Fatal(err)
	}
	on := map[types.ManagedObjectReference]types.ManagedObjectReference{}
	for _, h := range hosts {
		for _, vm := range h.Vm {
			if other, twice := on[vm]; twice {
				t.Errorf("%v is on %v and %v", vm, other, h.Self)
			}
			on[vm] = h.Self
		}
	}
	for _, vm := range vms {
		if on[vm.Self] != *vm.Runtime.Host {
			t.Errorf("%v says that it is on %v, and is listed by %v", vm.Self, *vm.Runtime.Host, on[vm.Self])
		}
		delete(on, vm.Self)
	}
	if len(on) > 0 {
		t.Errorf("hosts list VMs that are not there: %v", on)
	}
}
