package cns_test

import (
	"net/url"
	"testing"

	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
)

// TestMigration registers a VMDK of the in-tree driver by its URL, free and on a VM, as upstream's migration did before vSLM
// (pkg/apis/migration).
func TestMigration(t *testing.T) {
	s := serve(t, 2, cns.Options{})
	dc := object.NewDatacenter(s.vim, s.ctx.Map.Any("Datacenter").Reference())
	name := s.ctx.Map.Get(s.datastores[0]).(*simulator.Datastore).Name
	file := func(path string) string { return (&object.DatastorePath{Datastore: name, Path: path}).String() }
	if err := object.NewFileManager(s.vim).MakeDirectory(t.Context(), file("kubevols"), dc, true); err != nil {
		t.Fatal(err)
	}
	create := func(path string) {
		t.Helper()
		done(t)(object.NewVirtualDiskManager(s.vim).CreateVirtualDisk(t.Context(), file(path), dc, &types.FileBackedVirtualDiskSpec{CapacityKb: 32 << 10}))
	}
	at := func(datacenter, path string) cnstypes.CnsVolumeCreateSpec {
		sp := spec(path, "c", 0)
		q := url.Values{"dcPath": {datacenter}, "dsName": {name}}
		sp.BackingObjectDetails = &cnstypes.CnsBlockBackingDetails{BackingDiskUrlPath: "https://vc/folder/" + path + "?" + q.Encode()}
		return sp
	}
	create("kubevols/free.vmdk")
	create("kubevols/used.vmdk")
	refusedWith[*types.InvalidArgument](t, s.asked(t, at("other", "kubevols/free.vmdk")))
	if r := s.asked(t, at("/DC0", "kubevols/none.vmdk")); !is(r, new(types.FileNotFound)) {
		t.Errorf("no such file: %+v", r)
	}
	free := s.create(t, at("/DC0", "kubevols/free.vmdk"))
	if v, _ := s.Volume(free); v.CapacityMB != 32 || v.Path != file("kubevols/free.vmdk") || v.Datastore != s.datastores[0] {
		t.Errorf("%+v", v)
	}
	if f := refusedWith[*cnstypes.CnsAlreadyRegisteredFault](t, s.asked(t, at("DC0", "kubevols/free.vmdk"))); f.VolumeId.Id != free {
		t.Errorf("registered as %s", f.VolumeId.Id)
	}
	fine(t, s.attach(t, free, s.vms[1]))

	d := &types.VirtualDisk{CapacityInKB: 32 << 10}
	d.Key = -1
	d.Backing = &types.VirtualDiskFlatVer2BackingInfo{
		DiskMode: string(types.VirtualDiskModePersistent), VirtualDeviceFileBackingInfo: types.VirtualDeviceFileBackingInfo{FileName: file("kubevols/used.vmdk"), Datastore: &s.datastores[0]},
	}
	for _, o := range s.devices(t, s.vms[0]) {
		if c, ok := o.(types.BaseVirtualSCSIController); ok {
			d.ControllerKey, d.UnitNumber = c.GetVirtualSCSIController().Key, types.NewInt32(5)
		}
	}
	s.reconfigure(t, s.vms[0], types.VirtualDeviceConfigSpecOperationAdd, d)
	used := s.create(t, at("/DC0", "kubevols/used.vmdk"))
	v, _ := s.Volume(used)
	device := s.diskOn(t, s.vms[0], used)
	if v.VM != s.vms[0] || v.Unit != 5 || device == nil {
		t.Fatalf("volume %+v, device %+v", v, device)
	}
	uuid := device.Backing.(*types.VirtualDiskFlatVer2BackingInfo).Uuid
	if v.DiskUUID != uuid || s.consumer(t, used) != s.vm(t, s.vms[0]).Config.Uuid {
		t.Errorf("disk %s, device %s, consumer %s", v.DiskUUID, uuid, s.consumer(t, used))
	}
	fine(t, s.detach(t, used, s.vms[0]))
	if r := s.attach(t, used, s.vms[1]).(*cnstypes.CnsVolumeAttachResult); r.DiskUUID != uuid {
		t.Errorf("the disk is another one: %s, was %s (%+v)", r.DiskUUID, uuid, r.Fault)
	}
	s.consistent(t)
}
