package cns

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/vmware/govmomi/cns/methods"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	content "github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// CnsExtendVolume extends volumes, even attached ones.
func (m *Manager) CnsExtendVolume(_ *simulator.Context, req *cnstypes.CnsExtendVolume) soap.HasFault {
	ref := m.task("CnsExtendVolume", func(ctx *simulator.Context) (types.AnyType, types.BaseMethodFault) {
		if len(req.ExtendSpecs) == 0 {
			return nil, &types.InvalidArgument{InvalidProperty: "extendSpecs"}
		}
		all := batch()
		for _, spec := range req.ExtendSpecs {
			id := spec.VolumeId.Id
			said := m.scripted("CnsExtendVolume", id, vc.Ref{})
			if said.task != nil {
				return nil, said.task
			}
			fault := said.fault
			if fault == nil {
				fault = m.extend(ctx, id, spec.CapacityInMb)
			}
			if fault != nil {
				m.refusedFor(id, "extension", fault)
			}
			result := outcome(id, fault)
			all.VolumeResults = append(all.VolumeResults, &result)
		}
		return all, nil
	})
	return &methods.CnsExtendVolumeBody{Res: &cnstypes.CnsExtendVolumeResponse{Returnval: ref}}
}

// extend sets the capacity of a volume, in MiB. It succeeds if the volume has it already.
func (m *Manager) extend(ctx *simulator.Context, id string, mb int64) types.BaseMethodFault {
	v := m.take(id)
	if v == nil {
		return new(types.NotFound)
	}
	defer m.release(v, nil)
	was := v.capacity
	fault := m.extensible(ctx, v, mb)
	if fault != nil {
		return fault
	}
	if mb == was {
		return m.grown(v, mb)
	}
	vm := vc.Ref{}
	if on := m.holder(ctx, v); on != nil {
		vm = on.vm
		fault = m.remeasure(ctx, v, on.vm, mb)
	} else {
		fault = m.resize(v, mb)
	}
	if fault != nil {
		return fault
	}
	m.editDisk(ctx, v.id, func(d *disk) { d.Config.CapacityInMB = mb })
	m.mu.Lock()
	v.capacity = mb
	m.mu.Unlock()
	if fault := m.grown(v, mb); fault != nil {
		return fault
	}
	m.log(v.about(vm), event.Info, "volume.extended", "from %s to %s; datastore %s", size(was), size(mb), m.storeName(ctx, v.datastore))
	return nil
}

// grown reports the new size of a disk to its guest.
func (m *Manager) grown(v *volume, mb int64) types.BaseMethodFault {
	if err := m.guestOf(v.id, mb<<20, Guests.Resize); err != nil {
		return because(nil, "Failed to extend disk: the guest does not see its new size: %v", err)
	}
	return nil
}

// extensible returns the reason why a busy volume cannot get that capacity, or nil.
func (m *Manager) extensible(ctx *simulator.Context, v *volume, mb int64) types.BaseMethodFault {
	switch {
	case mb < v.capacity:
		return &types.InvalidArgument{InvalidProperty: "extendSpecs.capacityInMb"}
	case mb == v.capacity || v.file:
		return nil
	case len(v.snapshot) > 0:
		return because(new(types.InvalidState), "Failed to extend disk: volume %s has snapshots (%d)", v.id, len(v.snapshot))
	}
	s := m.store(ctx, v.datastore)
	if s == nil {
		return new(types.NotFound)
	}
	if len(s.hosts) == 0 {
		return inaccessible(s, "no host reaches it")
	}
	if s.free < (mb-v.capacity)<<20 {
		return noSpace(s)
	}
	return nil
}

// resize sets the capacity of the volume's contents.
func (m *Manager) resize(v *volume, mb int64) types.BaseMethodFault {
	dir := m.Dir(v.id)
	if dir == "" || v.file {
		return nil
	}
	if err := content.Resize(dir, mb<<20); err != nil {
		return because(nil, "Failed to extend disk: %v", err)
	}
	return nil
}

// remeasure sets the capacity of the volume's contents and then of its device, because a node reads the contents when it sees the
// device change.
func (m *Manager) remeasure(ctx *simulator.Context, v *volume, on vc.Ref, mb int64) types.BaseMethodFault {
	fault := m.withVM(ctx, on, func(vm *simulator.VirtualMachine) types.BaseMethodFault {
		if fault := changeable(vm, "extend"); fault != nil {
			return fault
		}
		if fault := m.resize(v, mb); fault != nil {
			return fault
		}
		d := diskOf(vm.Config.Hardware.Device, v.id, v.path)
		if d == nil {
			return nil // a user has removed it
		}
		m.setDevices(ctx, vm, replug(vm.Config.Hardware.Device, d, func(c *types.VirtualDisk) {
			measure(c, mb)
			info := types.Description{}
			if c.DeviceInfo != nil {
				info = *c.DeviceInfo.GetDescription()
			}
			info.Summary = summary(c)
			c.DeviceInfo = &info
		}))
		return nil
	})
	if _, gone := fault.(*types.ManagedObjectNotFound); gone {
		return m.resize(v, mb)
	}
	return fault
}

// Devices of a VM, and their list, are replaced by copies and never changed, because answers to clients may hold them.

// plug returns the devices with the volume's disk in a slot, and the disk.
func plug(devices []types.BaseVirtualDevice, v *volume, at slot, mode, sharing string) ([]types.BaseVirtualDevice, *types.VirtualDisk) {
	devices = slices.Clone(devices)
	if at.added != nil {
		devices = append(devices, at.added)
		devices = edit(devices, at.added.ControllerKey, func(c *types.VirtualController) { c.Device = append(slices.Clone(c.Device), at.added.Key) })
	}
	d := &types.VirtualDisk{VDiskId: &types.ID{Id: v.id}}
	measure(d, v.capacity)
	d.Key = freeKey(devices, diskKey+at.bus*units+at.unit)
	d.ControllerKey, d.UnitNumber = at.controller, new(at.unit)
	d.DeviceInfo = &types.Description{Label: label(devices), Summary: summary(d)}
	d.Backing = diskBacking(v, mode, sharing)
	devices = append(devices, d)
	return edit(devices, at.controller, func(c *types.VirtualController) { c.Device = append(slices.Clone(c.Device), d.Key) }), d
}

// unplug returns the devices without the disk.
func unplug(devices []types.BaseVirtualDevice, d *types.VirtualDisk) []types.BaseVirtualDevice {
	devices = slices.DeleteFunc(slices.Clone(devices), func(o types.BaseVirtualDevice) bool { return o.GetVirtualDevice().Key == d.Key })
	return edit(devices, d.ControllerKey, func(c *types.VirtualController) {
		c.Device = slices.DeleteFunc(slices.Clone(c.Device), func(key int32) bool { return key == d.Key })
	})
}

// replug returns the devices with the disk replaced by a changed copy.
func replug(devices []types.BaseVirtualDevice, d *types.VirtualDisk, change func(*types.VirtualDisk)) []types.BaseVirtualDevice {
	devices = slices.Clone(devices)
	for i, o := range devices {
		if o == types.BaseVirtualDevice(d) {
			c := *d
			change(&c)
			devices[i] = &c
		}
	}
	return devices
}

// edit replaces a controller in the caller's list with a changed copy.
func edit(devices []types.BaseVirtualDevice, key int32, change func(*types.VirtualController)) []types.BaseVirtualDevice {
	for i, d := range devices {
		if _, ok := d.(types.BaseVirtualController); !ok || d.GetVirtualDevice().Key != key {
			continue
		}
		c := reflect.New(reflect.TypeOf(d).Elem())
		c.Elem().Set(reflect.ValueOf(d).Elem())
		devices[i] = c.Interface().(types.BaseVirtualDevice)
		change(devices[i].(types.BaseVirtualController).GetVirtualController())
	}
	return devices
}

func diskBacking(v *volume, mode, sharing string) *types.VirtualDiskFlatVer2BackingInfo {
	mode = cmp.Or(mode, string(types.VirtualDiskModePersistent))
	sharing = cmp.Or(sharing, string(types.VirtualDiskSharingSharingNone))
	no := func() *bool { return new(false) }
	datastore := v.datastore
	b := &types.VirtualDiskFlatVer2BackingInfo{
		DiskMode: mode, Sharing: sharing, Uuid: v.disk, ThinProvisioned: new(true),
		EagerlyScrub: no(), Split: no(), WriteThrough: no(), DigestEnabled: no(),
	}
	b.FileName, b.Datastore = v.path, &datastore
	return b
}

// measure sets the capacity of the disk, in MiB.
func measure(d *types.VirtualDisk, mb int64) { d.CapacityInBytes, d.CapacityInKB = mb<<20, mb<<10 }

// summary returns vSphere's description of a disk: "1,048,576 KB".
func summary(d *types.VirtualDisk) string {
	digits := fmt.Sprint(d.CapacityInKB)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits + " KB"
}

// label returns the label of the next disk: the first free one.
func label(devices []types.BaseVirtualDevice) string {
	taken := make(map[string]bool)
	for _, d := range devices {
		if info := d.GetVirtualDevice().DeviceInfo; info != nil {
			taken[info.GetDescription().Label] = true
		}
	}
	for n := 1; ; n++ {
		if l := fmt.Sprintf("Hard disk %d", n); !taken[l] {
			return l
		}
	}
}

// diskOf returns the volume's disk among the devices, or nil. A disk with the volume's ID and another file belongs to a clone.
func diskOf(devices []types.BaseVirtualDevice, id, path string) *types.VirtualDisk {
	for _, d := range devices {
		if disk, ok := d.(*types.VirtualDisk); ok && disk.VDiskId != nil && disk.VDiskId.Id == id && fileOf(disk) == path {
			return disk
		}
	}
	return nil
}

// fileOf returns the path of a disk's file, or "".
func fileOf(d *types.VirtualDisk) string {
	if b, ok := d.Backing.(types.BaseVirtualDeviceFileBackingInfo); ok {
		return b.GetVirtualDeviceFileBackingInfo().FileName
	}
	return ""
}

// setDevices replaces the devices of the VM, whose lock is held, and updates all that depends on them.
func (m *Manager) setDevices(ctx *simulator.Context, vm *simulator.VirtualMachine, devices []types.BaseVirtualDevice) {
	disks := int32(0)
	for _, d := range devices {
		if _, ok := d.(*types.VirtualDisk); ok {
			disks++
		}
	}
	m.owning(vm.Self, func() {
		ctx.Update(vm, []types.PropertyChange{
			vc.P("config.hardware.device", devices), vc.P("summary.config.numVirtualDisks", disks),
		})
	})
}
