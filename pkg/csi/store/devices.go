package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// readAtOnce is how many VMs' devices one call asks for.
const readAtOnce = 250

// attached returns the volumes on those of the nodes that are in this vCenter; VMs that are gone have none.
func (c *conn) attached(ctx context.Context, nodes []volume.Node) ([]volume.Attached, error) {
	by := map[ref]volume.Node{}
	var vms []ref
	for _, n := range nodes {
		if id := vm(n.VM); n.VCenter == c.name() && n.VM != "" && by[id].VM == "" {
			by[id] = n
			vms = append(vms, id)
		}
	}
	var all []volume.Attached
	for part := range slices.Chunk(vms, readAtOnce) {
		found, err := c.devices(ctx, part)
		if err != nil {
			return nil, err
		}
		for _, v := range found {
			for id, uuid := range disks(v) {
				all = append(all, volume.Attached{Volume: id, Node: by[v.Self], DiskUUID: uuid})
			}
		}
	}
	return all, nil
}

// disk returns the UUID of the VM's disk that is the volume; empty when none is. A VM that tells nothing, as one whose
// files are out of reach, is volume.ErrState: it may have the disk.
func (c *conn) disk(ctx context.Context, id string, of ref) (string, error) {
	var found []mo.VirtualMachine
	err := c.call(ctx, func(ctx context.Context, s *services) error {
		return property.DefaultCollector(s.vim).Retrieve(ctx, []ref{of}, []string{"config.hardware.device"}, &found)
	})
	if err != nil {
		return "", err
	}
	for _, v := range found {
		if v.Config == nil {
			return "", fmt.Errorf("%w: %s does not tell its devices", volume.ErrState, of.Value)
		}
		if uuid, ok := disks(v)[id]; ok {
			return uuid, nil
		}
	}
	return "", nil
}

// devices reads the devices of VMs, without those that are gone.
func (c *conn) devices(ctx context.Context, vms []ref) ([]mo.VirtualMachine, error) {
	for len(vms) > 0 {
		var found []mo.VirtualMachine
		err := c.call(ctx, func(ctx context.Context, s *services) error {
			return property.DefaultCollector(s.vim).Retrieve(ctx, vms, []string{"config.hardware.device"}, &found)
		})
		gone, ok := faultOf(err).(*types.ManagedObjectNotFound)
		if err == nil || !ok || !contains(vms, gone.Obj) {
			return found, err
		}
		vms = without(vms, gone.Obj)
	}
	return nil, nil
}

// disks are a VM's disks that are volumes: the compact UUID by the volume's id.
func disks(v mo.VirtualMachine) map[string]string {
	found := map[string]string{}
	if v.Config == nil {
		return found
	}
	for _, d := range v.Config.Hardware.Device {
		disk, ok := d.(*types.VirtualDisk)
		if !ok || disk.VDiskId == nil {
			continue
		}
		found[disk.VDiskId.Id] = names.Compact(backingUUID(disk.Backing))
	}
	return found
}

func backingUUID(b types.BaseVirtualDeviceBackingInfo) string {
	switch b := b.(type) {
	case *types.VirtualDiskFlatVer2BackingInfo:
		return b.Uuid
	case *types.VirtualDiskSeSparseBackingInfo:
		return b.Uuid
	case *types.VirtualDiskSparseVer2BackingInfo:
		return b.Uuid
	case *types.VirtualDiskRawDiskMappingVer1BackingInfo:
		return b.Uuid
	case *types.VirtualDiskLocalPMemBackingInfo:
		return b.Uuid
	}
	return ""
}
