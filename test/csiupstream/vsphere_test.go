package csiupstream

import (
	"strings"

	"github.com/vmware/govmomi/cns"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/lab"
)

// disk is a device of a VM that has a volume.
type disk struct {
	uuid  string // as a publish context has it
	bytes int64
	scsi  bool
}

// disks are the volumes that a VM has, as anybody sees them through the vSphere API.
func (w *world) disks(m *lab.Machine) map[string]disk {
	w.t.Helper()
	vm, err := m.Object(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	devices, err := vm.Device(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	all := map[string]disk{}
	for _, d := range devices {
		v, ok := d.(*types.VirtualDisk)
		if !ok || v.VDiskId == nil {
			continue
		}
		is := disk{bytes: v.CapacityInBytes}
		if b, ok := v.Backing.(*types.VirtualDiskFlatVer2BackingInfo); ok {
			is.uuid = strings.ReplaceAll(strings.ToLower(b.Uuid), "-", "")
		}
		_, is.scsi = devices.FindByKey(v.ControllerKey).(*types.ParaVirtualSCSIController)
		all[v.VDiskId.Id] = is
	}
	return all
}

// volume is what CNS says of a volume; nil for one that it does not have.
func (w *world) volume(vcenter, id string) *cnstypes.CnsVolume {
	w.t.Helper()
	client, err := cns.NewClient(w.t.Context(), w.clients[vcenter])
	if err != nil {
		w.t.Fatal(err)
	}
	res, err := client.QueryVolume(w.t.Context(), &cnstypes.CnsQueryFilter{VolumeIds: []cnstypes.CnsVolumeId{{Id: id}}})
	if err != nil {
		w.t.Fatal(err)
	}
	if len(res.Volumes) == 0 {
		return nil
	}
	return &res.Volumes[0]
}

// datastore is the name of the datastore that a volume is on.
func (w *world) datastore(vcenter, id string) string {
	w.t.Helper()
	v := w.volume(vcenter, id)
	if v == nil {
		w.t.Fatalf("CNS has no volume %s", id)
	}
	all, err := find.NewFinder(w.clients[vcenter]).DatastoreList(w.t.Context(), "/*/datastore/*")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, ds := range all {
		var is mo.Datastore
		if err := ds.Properties(w.t.Context(), ds.Reference(), []string{"summary.url"}, &is); err != nil {
			w.t.Fatal(err)
		}
		if is.Summary.Url == v.DatastoreUrl {
			return ds.Name()
		}
	}
	w.t.Fatalf("volume %s is on %s, which is no datastore", id, v.DatastoreUrl)
	return ""
}
