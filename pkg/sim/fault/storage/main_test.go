package storage_test

import (
	"errors"
	"testing"

	"github.com/vmware/govmomi/cns"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/snapshot"
)

const zones = "../../../../scenarios/zones-us-eu.yaml"

// What the trials are about.
const (
	vmPath   = "/dceast/vm/worker-east-1"
	dsPath   = "/dceast/datastore/dceast-ds"
	hostPath = "/dceast/host/east/esx-east-1"
)

type world struct {
	snapshot.World
	t *testing.T
}

func start(t *testing.T) world {
	t.Helper()
	return world{snapshot.Start(t, zones), t}
}

func (w world) vm() *object.VirtualMachine {
	return object.NewVirtualMachine(w.Client("us").Client, w.Ref("us", vmPath))
}

func (w world) datastore() (ds mo.Datastore) {
	w.Get("us", w.Ref("us", dsPath), &ds, "host", "summary", "overallStatus")
	return ds
}

// finish waits for a task and returns its error.
func (w world) finish(task *object.Task, err error) error {
	if err != nil {
		return err
	}
	return task.Wait(w.t.Context())
}

func (w world) must(task *object.Task, err error) {
	w.t.Helper()
	if err := w.finish(task, err); err != nil {
		w.t.Fatal(err)
	}
}

// disks are those of the VM.
func (w world) disks() object.VirtualDeviceList {
	w.t.Helper()
	devices, err := w.vm().Device(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return devices.SelectByType((*types.VirtualDisk)(nil))
}

// addDisk gives the VM another disk.
func (w world) addDisk() (*object.Task, error) {
	w.t.Helper()
	devices, err := w.vm().Device(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	controller, err := devices.FindDiskController("")
	if err != nil {
		w.t.Fatal(err)
	}
	disk := devices.CreateDisk(controller, w.Ref("us", dsPath), "")
	disk.CapacityInKB = 1 << 20
	return w.vm().Reconfigure(w.t.Context(), types.VirtualMachineConfigSpec{DeviceChange: []types.BaseVirtualDeviceConfigSpec{
		&types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationAdd, FileOperation: types.VirtualDeviceConfigSpecFileOperationCreate, Device: disk},
	}})
}

// removeDisk takes the last disk from the VM, and keeps its file.
func (w world) removeDisk() error {
	w.t.Helper()
	disks := w.disks()
	return w.vm().RemoveDevice(w.t.Context(), true, disks[len(disks)-1])
}

func (w world) volumes() *cns.Client {
	w.t.Helper()
	c, err := cns.NewClient(w.t.Context(), w.Client("us").Client)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// outcome returns the fault of a CNS task for its only volume, nil if it succeeded.
func (w world) outcome(task *object.Task, err error) (id cnstypes.CnsVolumeId, _ error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
	info, err := task.WaitForResult(w.t.Context())
	if err != nil {
		return id, err
	}
	result, err := cns.GetTaskResult(w.t.Context(), info)
	if err != nil {
		w.t.Fatal(err)
	}
	if result == nil {
		return id, errors.New("no result")
	}
	r := result.GetCnsVolumeOperationResult()
	if r.Fault != nil {
		return id, soap.WrapVimFault(r.Fault.Fault)
	}
	return r.VolumeId, nil
}

func (w world) volume(name string) []cnstypes.CnsVolumeCreateSpec {
	w.t.Helper()
	return []cnstypes.CnsVolumeCreateSpec{{
		Name: name, VolumeType: string(cnstypes.CnsVolumeTypeBlock), Datastores: []types.ManagedObjectReference{w.Ref("us", dsPath)},
		BackingObjectDetails: &cnstypes.CnsBlockBackingDetails{CnsBackingObjectDetails: cnstypes.CnsBackingObjectDetails{CapacityInMb: 64}},
	}}
}

func (w world) createVolume(name string) (cnstypes.CnsVolumeId, error) {
	w.t.Helper()
	return w.outcome(w.volumes().CreateVolume(w.t.Context(), w.volume(name)))
}

func (w world) attachVolume(id cnstypes.CnsVolumeId) error {
	w.t.Helper()
	_, err := w.outcome(w.volumes().AttachVolume(w.t.Context(), []cnstypes.CnsVolumeAttachDetachSpec{{VolumeId: id, Vm: w.vm().Reference()}}))
	return err
}

func (w world) detachVolume(id cnstypes.CnsVolumeId) error {
	w.t.Helper()
	_, err := w.outcome(w.volumes().DetachVolume(w.t.Context(), []cnstypes.CnsVolumeAttachDetachSpec{{VolumeId: id, Vm: w.vm().Reference()}}))
	return err
}

func (w world) outcomeOf(task *object.Task, err error) error {
	w.t.Helper()
	_, err = w.outcome(task, err)
	return err
}

func volumeIDs(ids ...cnstypes.CnsVolumeId) []cnstypes.CnsVolumeId { return ids }

func anyVolume() cnstypes.CnsVolumeId { return cnstypes.CnsVolumeId{Id: "any"} }

// create makes a VM on the datastore.
func (w world) create(name string) error {
	w.t.Helper()
	c := w.Client("us").Client
	host := w.Ref("us", hostPath)
	pool := w.Ref("us", "/dceast/host/east/Resources")
	return w.finish(object.NewFolder(c, w.Ref("us", "/dceast/vm")).CreateVM(w.t.Context(), types.VirtualMachineConfigSpec{
		Name: name, GuestId: "otherGuest", Files: &types.VirtualMachineFileInfo{VmPathName: "[dceast-ds]"},
	}, object.NewResourcePool(c, pool), object.NewHostSystem(c, host)))
}

func (w world) clone(name string) error {
	w.t.Helper()
	c := w.Client("us").Client
	return w.finish(w.vm().Clone(w.t.Context(), object.NewFolder(c, w.Ref("us", "/dceast/vm")), name, types.VirtualMachineCloneSpec{}))
}

// extend makes the VM's first disk that many times as large.
func (w world) extend(times int64) error {
	w.t.Helper()
	disk := w.disks()[0].(*types.VirtualDisk)
	disk.CapacityInKB *= times
	disk.CapacityInBytes *= times
	return w.finish(w.vm().Reconfigure(w.t.Context(), types.VirtualMachineConfigSpec{DeviceChange: []types.BaseVirtualDeviceConfigSpec{
		&types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationEdit, Device: disk},
	}}))
}
