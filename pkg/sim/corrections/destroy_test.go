package corrections

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/race"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

func TestDestroyRefuses(t *testing.T) {
	v := start(t)
	if err := finish(t.Context(), func() (*object.Task, error) { return v.vms()[0].PowerOn(t.Context()) }); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]types.BaseMethodFault{
		"/F0/DC0/vm":                       new(types.NotSupported),
		"/F0/DC0/vm/F0":                    new(types.InvalidPowerState),
		"/F0/DC0":                          new(types.InvalidPowerState),
		"/F0":                              new(types.InvalidPowerState),
		"/F0/DC0/host/F0/DC0_C0/DC0_C0_H0": new(types.InvalidState),
		"/F0/DC0/host/F0/DC0_C0/Resources": new(types.NotSupported),
		"/F0/DC0/datastore/F0/LocalDS_0":   new(types.ResourceInUse),
	} {
		err := v.destroy(v.ref(path))
		if got := faultOf(err); reflect.TypeOf(got) != reflect.TypeOf(want) {
			t.Errorf("%s: %T (%v), want %T", path, got, err, want)
		}
	}
	v.checkReferences()
}

func TestDestroyTakesEverythingAlong(t *testing.T) {
	v := start(t)
	for _, step := range []string{
		"/F0/DC0/host/F0/DC0_C0/Resources/DC0_C0_RP1", // its VMs go to its parent
		"/F0/DC0/host/F0/DC0_C0/Resources/DC0_C0_APP0",
		"/F0/DC0/host/F0/DC0_H0/DC0_H0", // a standalone host, with its VMs and its compute resource
		"/F0/DC0/vm/F0",
		"/F0/DC0/datastore/F0/LocalDS_0",
		"/F0/DC0/network/F0/DVS0",
		"/F0/DC0/host/F0/DC0_C0",
		"/F0",
	} {
		if err := v.destroy(v.ref(step)); err != nil {
			t.Fatalf("%s: %v", step, err)
		}
		v.checkReferences()
	}
	for _, kind := range []string{"Datacenter", "VirtualMachine", "HostSystem", "Datastore", "Network", "ResourcePool", "ClusterComputeResource"} {
		if left := v.base.Map.AllReference(kind); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	}
}

func TestHostLeavesItsCluster(t *testing.T) {
	v := start(t)
	cluster, host := v.ref("/F0/DC0/host/F0/DC0_C0"), v.ref("/F0/DC0/host/F0/DC0_C0/DC0_C0_H0")
	h := object.NewHostSystem(v.client, host)
	if err := finish(t.Context(), func() (*object.Task, error) { return h.EnterMaintenanceMode(t.Context(), 0, false, nil) }); err != nil {
		t.Fatal(err)
	}
	if err := v.destroy(host); err != nil {
		t.Fatal(err)
	}
	v.checkReferences()
	var c mo.ClusterComputeResource
	if err := object.NewClusterComputeResource(v.client, cluster).Properties(t.Context(), cluster, []string{"host", "summary"}, &c); err != nil {
		t.Fatal(err)
	}
	if s := c.Summary.GetComputeResourceSummary(); len(c.Host) != 2 || s.NumHosts != 2 || s.TotalCpu == 0 {
		t.Errorf("cluster has %d hosts, summary %+v", len(c.Host), s)
	}
}

func TestDestroyedVMLeavesItsFirstClassDisks(t *testing.T) {
	v := start(t)
	vm := v.vms()[0]
	manager := v.base.Map.VStorageObjectManager()
	ds := v.ref("/F0/DC0/datastore/F0/LocalDS_0")
	ctx := vc.Fresh(v.base)
	create := func() (id types.ID, path string) {
		body := manager.CreateDiskTask(ctx, &types.CreateDisk_Task{This: manager.Self, Spec: types.VslmCreateSpec{
			Name: "data", CapacityInMB: 10,
			BackingSpec: &types.VslmCreateSpecDiskFileBackingSpec{VslmCreateSpecBackingSpec: types.VslmCreateSpecBackingSpec{Datastore: ds}},
		}})
		result, err := vc.Wait(ctx, reflect.ValueOf(body).Elem().FieldByName("Res").Elem().FieldByName("Returnval").Interface().(vc.Ref))
		if err != nil {
			t.Fatal(err)
		}
		disk := result.(*types.VStorageObject)
		return disk.Config.Id, disk.Config.Backing.(*types.BaseConfigInfoDiskFileBackingInfo).FilePath
	}
	id, path := create()
	uuid := vm.UUID(t.Context())
	sim := v.base.Map.Get(vm.Reference()).(*simulator.VirtualMachine)
	ctx.WithLock(sim, func() {
		ctx.Update(sim, []types.PropertyChange{vc.P("config.hardware.device", append(sim.Config.Hardware.Device, &types.VirtualDisk{
			VirtualDevice: types.VirtualDevice{Key: 2999, Backing: &types.VirtualDiskFlatVer2BackingInfo{
				VirtualDeviceFileBackingInfo: types.VirtualDeviceFileBackingInfo{FileName: path, Datastore: &ds},
			}},
			VDiskId: &id,
		}))})
	})
	manager.Catalog()[ds][id].Config.ConsumerId = []types.ID{{Id: uuid}}

	if err := v.destroy(vm.Reference()); err != nil {
		t.Fatal(err)
	}
	disk := manager.Catalog()[ds][id]
	if disk == nil || len(disk.Config.ConsumerId) != 0 {
		t.Fatalf("disk %+v, want one without consumer", disk)
	}
	dc, err := v.find.DefaultDatacenter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := object.NewVirtualDiskManager(v.client).QueryVirtualDiskUuid(t.Context(), path, dc); err != nil {
		t.Errorf("file of the disk: %v", err)
	}
}

func TestArgumentsMustExist(t *testing.T) {
	v := start(t)
	gone := func(kind string) *vc.Ref { return &vc.Ref{Type: kind, Value: "gone-1"} }
	folder := object.NewFolder(v.client, v.ref("/F0/DC0/vm"))
	pool := object.NewResourcePool(v.client, v.ref("/F0/DC0/host/F0/DC0_C0/Resources"))
	vm := v.vms()[0]
	for name, call := range map[string]func() (*object.Task, error){
		"pool that is gone": func() (*object.Task, error) {
			return folder.CreateVM(t.Context(), types.VirtualMachineConfigSpec{Name: "x"}, object.NewResourcePool(v.client, *gone("ResourcePool")), nil)
		},
		"pool of another kind": func() (*object.Task, error) {
			return folder.CreateVM(t.Context(), types.VirtualMachineConfigSpec{Name: "x"}, object.NewResourcePool(v.client, vm.Reference()), nil)
		},
		"no pool": func() (*object.Task, error) {
			return folder.CreateVM(t.Context(), types.VirtualMachineConfigSpec{Name: "x"}, object.NewResourcePool(v.client, vc.Ref{}), nil)
		},
		"host that is gone": func() (*object.Task, error) {
			return folder.CreateVM(t.Context(), types.VirtualMachineConfigSpec{Name: "x"}, pool, object.NewHostSystem(v.client, *gone("HostSystem")))
		},
		"datastore of a clone": func() (*object.Task, error) {
			return vm.Clone(t.Context(), folder, "x", types.VirtualMachineCloneSpec{Location: types.VirtualMachineRelocateSpec{Datastore: gone("Datastore")}})
		},
	} {
		err := finish(t.Context(), func() (*object.Task, error) { return call() })
		switch faultOf(err).(type) {
		case *types.ManagedObjectNotFound, types.ManagedObjectNotFound, *types.InvalidArgument, types.InvalidArgument:
		default:
			t.Errorf("%s: %T %v", name, faultOf(err), err)
		}
	}
}

// TestDemolition destroys, powers, moves and creates at random from many sides until little is left: nothing may panic,
// nothing may stall, and no reference may dangle.
func TestDemolition(t *testing.T) {
	if race.Enabled {
		t.Skip("vcsim itself races when VMs are created and destroyed at once: run it without -race, as make test does, too")
	}
	v := start(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	var work sync.WaitGroup
	for n := range 6 {
		random := rand.New(rand.NewPCG(7, uint64(n)))
		work.Go(func() {
			for ctx.Err() == nil {
				v.act(random)
			}
		})
	}
	done := make(chan struct{})
	go func() { work.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("stalled")
	}
	v.checkReferences()
}

// act does one thing to one object; what it answers does not matter.
func (v *vcenter) act(random *rand.Rand) {
	ctx := context.Background()
	kinds := []string{
		"VirtualMachine", "VirtualMachine", "VirtualMachine", "VirtualMachine", "ResourcePool", "Folder", "HostSystem", "Datastore",
		"Network", "DistributedVirtualPortgroup", "DistributedVirtualSwitch", "ClusterComputeResource",
	}
	all := v.base.Map.AllReference(kinds[random.IntN(len(kinds))])
	if len(all) == 0 {
		return
	}
	ref := all[random.IntN(len(all))].Reference()
	if ref.Type == "Folder" && random.IntN(4) == 0 {
		_, _ = object.NewFolder(v.client, ref).CreateFolder(ctx, fmt.Sprint("f", random.IntN(100)))
		return
	}
	if ref.Type != "VirtualMachine" {
		if random.IntN(20) == 0 {
			_ = v.destroy(ref)
		}
		return
	}
	vm := object.NewVirtualMachine(v.client, ref)
	_ = finish(ctx, func() (*object.Task, error) {
		switch random.IntN(8) {
		case 0:
			return vm.Destroy(ctx)
		case 1, 2:
			return vm.PowerOn(ctx)
		case 3, 4:
			return vm.PowerOff(ctx)
		case 5:
			hosts := v.base.Map.AllReference("HostSystem")
			if len(hosts) == 0 {
				return vm.Suspend(ctx)
			}
			host := hosts[random.IntN(len(hosts))].Reference()
			return vm.Relocate(ctx, types.VirtualMachineRelocateSpec{Host: &host}, "")
		case 6:
			folders := v.base.Map.AllReference("Folder")
			folder := folders[random.IntN(len(folders))].Reference()
			return vm.Clone(ctx, object.NewFolder(v.client, folder), fmt.Sprint("c", random.IntN(1000)), types.VirtualMachineCloneSpec{})
		default:
			return vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{Name: fmt.Sprint("r", random.IntN(1000))})
		}
	})
}
