package inventory

import (
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// disk is the disk under a VMFS datastore.
func (j *Joining) disk(dc string, d *topology.Datastore) types.HostScsiDisk {
	id := "naa.6000c29" + strings.ReplaceAll(j.rack.derive("lun", dc, d.Name), "-", "")[:25]
	disk := types.HostScsiDisk{
		Capacity:   types.HostDiskDimensionsLba{BlockSize: 512, Block: int64(d.Capacity) / 512},
		DevicePath: "/vmfs/devices/disks/" + id,
	}
	disk.CanonicalName, disk.DeviceName, disk.DeviceType = id, "/vmfs/devices/disks/"+id, "disk"
	disk.DisplayName, disk.LunType, disk.Uuid = "VMware Disk "+d.Name, "disk", id
	disk.Key = "key-vim.host.ScsiDisk-" + id
	disk.OperationalState = []string{"ok"}
	return disk
}

// blank lists the disks that the host sees and that no datastore is on.
func (j *Joining) blank(ctx *simulator.Context, s shelf) (disks []types.HostScsiDisk, of []*topology.Datastore) {
	for _, d := range s.sees {
		if kind := fileSystem(d.Type); kind == string(types.HostFileSystemVolumeFileSystemTypeVMFS) && s.find(ctx, d.Name) == nil {
			disks, of = append(disks, j.disk(s.dc.Name, d)), append(of, d)
		}
	}
	return disks, of
}

// QueryAvailableDisksForVmfs lists the disks that a datastore can be made on; vcsim has no such call.
func (j *Joining) QueryAvailableDisksForVmfs(ctx *simulator.Context, req *types.QueryAvailableDisksForVmfs) soap.HasFault {
	s, fault := j.shelf(ctx, req.This)
	if fault != nil {
		return &methods.QueryAvailableDisksForVmfsBody{Fault_: simulator.Fault("", fault)}
	}
	disks, _ := j.blank(ctx, s)
	return &methods.QueryAvailableDisksForVmfsBody{Res: &types.QueryAvailableDisksForVmfsResponse{Returnval: disks}}
}

// QueryVmfsDatastoreCreateOptions says that a disk can be taken as a whole; vcsim has no such call.
func (j *Joining) QueryVmfsDatastoreCreateOptions(ctx *simulator.Context, req *types.QueryVmfsDatastoreCreateOptions) soap.HasFault {
	s, fault := j.shelf(ctx, req.This)
	body := new(methods.QueryVmfsDatastoreCreateOptionsBody)
	if fault != nil {
		body.Fault_ = simulator.Fault("", fault)
		return body
	}
	disks, _ := j.blank(ctx, s)
	for _, d := range disks {
		if d.DevicePath != req.DevicePath {
			continue
		}
		spec := &types.VmfsDatastoreCreateSpec{
			Vmfs: types.HostVmfsSpec{MajorVersion: 6, Extent: types.HostScsiDiskPartition{DiskName: d.CanonicalName, Partition: 1}},
		}
		spec.DiskUuid = d.Uuid
		body.Res = &types.QueryVmfsDatastoreCreateOptionsResponse{Returnval: []types.VmfsDatastoreOption{{
			Info: &types.VmfsDatastoreAllExtentOption{VmfsDatastoreSingleExtentOption: types.VmfsDatastoreSingleExtentOption{
				VmfsExtent: types.HostDiskPartitionBlockRange{Type: "vmfs", End: types.HostDiskDimensionsLba{BlockSize: 512, Block: d.Capacity.Block}},
			}},
			Spec: spec,
		}}}
		return body
	}
	body.Fault_ = simulator.Fault("", &types.InvalidArgument{InvalidProperty: "devicePath"})
	return body
}
