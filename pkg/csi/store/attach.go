package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	cnsmethods "github.com/vmware/govmomi/cns/methods"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// Attach implements [volume.Store]. A volume can be attached only to VMs in its vCenter, so only that one is called. Without
// an error that takes three calls: the attachment, its task into the view, and the poll; concurrent attachments share the last two. It makes
// no call for an attachment that it has just made, unless a listing has not shown it.
func (s *Store) Attach(ctx context.Context, id string, n volume.Node) (diskUUID string, err error) {
	defer s.observe(n.VCenter, "attach", time.Now(), &err)
	c, err := s.conn(n.VCenter)
	if err != nil {
		return "", err
	}
	if id == "" || n.VM == "" {
		return "", fmt.Errorf("attach volume %q to VM %q: %w: empty id", id, n.VM, volume.ErrInvalid)
	}
	what := fmt.Sprintf("attach volume %s to %s", id, nodeText(n))
	return join(ctx, s, id, what, func(ctx context.Context) (uuid string, err error) {
		if uuid, ok := s.locations.recent(id, n); ok {
			return uuid, nil
		}
		uuid, err = s.attach(ctx, c, id, n)
		if err == nil {
			s.locations.put(id, c)
			s.locations.attached(id, uuid, n)
		}
		wrapError(c, &err, "%s", what)
		return uuid, err
	})
}

func vm(id string) ref { return ref{Type: "VirtualMachine", Value: id} }

// nodeText returns a node and its VM for messages.
func nodeText(n volume.Node) string {
	if n.Name == "" {
		return "VM " + n.VM
	}
	return fmt.Sprintf("node %s (%s)", n.Name, n.VM)
}

func (s *Store) attach(ctx context.Context, c *conn, id string, n volume.Node) (string, error) {
	result, err := c.operate(ctx, func(ctx context.Context, svc *services) (ref, error) {
		res, err := cnsmethods.CnsAttachVolume(ctx, svc.cns, &cnstypes.CnsAttachVolume{
			This: manager(), AttachSpecs: []cnstypes.CnsVolumeAttachDetachSpec{{VolumeId: volumeID(id), Vm: vm(n.VM)}},
		})
		if err != nil {
			return ref{}, err
		}
		return res.Returnval, nil
	})
	if err != nil {
		return s.attachRefused(ctx, c, id, n, err)
	}
	if attached, ok := result.(*cnstypes.CnsVolumeAttachResult); ok && attached.DiskUUID != "" {
		return names.Compact(attached.DiskUUID), nil
	}
	uuid, err := c.disk(ctx, id, vm(n.VM))
	if err == nil && uuid == "" {
		err = errors.New("attached, but the VM has no such disk")
	}
	return uuid, err
}

// attachRefused interprets a refusal: a volume that is in use by the same VM is attached.
func (s *Store) attachRefused(ctx context.Context, c *conn, id string, n volume.Node, err error) (string, error) {
	switch {
	case errors.Is(err, volume.ErrInUse):
		uuid, diskErr := c.disk(ctx, id, vm(n.VM))
		if diskErr != nil {
			return "", fmt.Errorf("%w; cannot check whether this VM has it: %w", err, diskErr)
		}
		if uuid != "" {
			return uuid, nil
		}
		if other := c.user(ctx, id); other != "" {
			return "", fmt.Errorf("attached to %s: %w", other, err)
		}
	case errors.Is(err, volume.ErrNotFound) && len(s.conns()) > 1:
		if other, locateErr := s.locate(ctx, id); locateErr == nil && other != c {
			return "", fmt.Errorf("%w: the volume is in vcenter %q", volume.ErrState, other.name())
		}
	}
	return "", err
}

// user returns the node that has the volume, or "" if it is not known.
func (c *conn) user(ctx context.Context, id string) string {
	nodes, _ := c.opts.Nodes(c.name()) // an incomplete list may still have it
	attached, err := c.attached(ctx, nodes)
	if err != nil {
		return ""
	}
	for _, a := range attached {
		if a.Volume == id {
			return nodeText(a.Node)
		}
	}
	return ""
}

// Detach implements [volume.Store]. If the node's VM is unknown (n.VM is empty), it uses the VM to which this process last
// attached the volume on this node, so that the attachment record in CNS is deleted too.
func (s *Store) Detach(ctx context.Context, id string, n volume.Node) (err error) {
	defer s.observe(n.VCenter, "detach", time.Now(), &err)
	if n.VM == "" {
		last, ok := s.locations.vm(id, n)
		if !ok {
			return nil // no known VM can have it
		}
		n = last
	}
	c, err := s.conn(n.VCenter)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("detach volume %s from %s", id, nodeText(n))
	_, err = join(ctx, s, id, what, func(ctx context.Context) (none struct{}, err error) {
		s.locations.verify(id)
		err = c.detach(ctx, id, n)
		if err == nil {
			s.locations.detached(id, n)
		}
		wrapError(c, &err, "%s", what)
		return none, err
	})
	return err
}

func (c *conn) detach(ctx context.Context, id string, n volume.Node) error {
	_, err := c.operate(ctx, func(ctx context.Context, s *services) (ref, error) {
		res, err := cnsmethods.CnsDetachVolume(ctx, s.cns, &cnstypes.CnsDetachVolume{
			This: manager(), DetachSpecs: []cnstypes.CnsVolumeAttachDetachSpec{{VolumeId: volumeID(id), Vm: vm(n.VM)}},
		})
		if err != nil {
			return ref{}, err
		}
		return res.Returnval, nil
	})
	var f *faultError
	if !errors.As(err, &f) {
		return err
	}
	if errors.Is(err, volume.ErrNodeGone) {
		return nil // CNS has deleted its record
	}
	// For any reason of the failure: if the VM does not have the disk, it is detached, otherwise not.
	uuid, diskErr := c.disk(ctx, id, vm(n.VM))
	switch {
	case errors.Is(diskErr, volume.ErrNodeGone):
		return nil
	case diskErr != nil:
		return fmt.Errorf("%s; cannot check whether the VM has it: %w", err, diskErr) // the doubt is the error's kind
	case uuid == "":
		c.log.Debug("volume is not on the VM", "volume", id, "vm", n.VM, "err", err)
		return nil
	case errors.Is(err, volume.ErrNotFound):
		return fmt.Errorf("%w: the VM has the disk, CNS does not know it: %s", volume.ErrState, f.message)
	}
	return err
}

// readAtOnce is how many VMs' devices one call reads.
const readAtOnce = 250

// attached returns the volumes on the nodes in this vCenter; VMs that are gone have none.
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

// disk returns the UUID of the VM's disk for the volume, or "". If the VM reports no devices, for example because its files are
// not accessible, the error is volume.ErrState: it may have the disk.
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
			return "", fmt.Errorf("%w: %s reports no devices", volume.ErrState, of.Value)
		}
		if uuid, ok := disks(v)[id]; ok {
			return uuid, nil
		}
	}
	return "", nil
}

// devices reads the devices of VMs, and omits VMs that are gone.
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

// disks returns a VM's disks that are volumes: compact UUIDs by volume id.
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
