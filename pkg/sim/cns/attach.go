package cns

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/cns/methods"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// CnsAttachVolume attaches volumes to VMs.
func (m *Manager) CnsAttachVolume(_ *simulator.Context, req *cnstypes.CnsAttachVolume) soap.HasFault {
	ref := m.task("CnsAttachVolume", func(ctx *simulator.Context) (types.AnyType, types.BaseMethodFault) {
		if len(req.AttachSpecs) == 0 {
			return nil, &types.InvalidArgument{InvalidProperty: "attachSpecs"}
		}
		all := batch()
		for i := range req.AttachSpecs {
			spec := &req.AttachSpecs[i]
			said := m.scripted("CnsAttachVolume", spec.VolumeId.Id, spec.Vm)
			if said.task != nil {
				return nil, said.task
			}
			result := new(cnstypes.CnsVolumeAttachResult)
			fault := said.fault
			if fault == nil {
				result.DiskUUID, fault = m.attach(ctx, spec)
			}
			if fault != nil {
				m.refusedOn(ctx, spec, "attaching it", fault)
			}
			result.CnsVolumeOperationResult = outcome(spec.VolumeId.Id, fault)
			all.VolumeResults = append(all.VolumeResults, result)
		}
		return all, nil
	})
	return &methods.CnsAttachVolumeBody{Res: &cnstypes.CnsAttachVolumeResponse{Returnval: ref}}
}

// attach adds the volume's disk to a VM and returns its UUID.
func (m *Manager) attach(ctx *simulator.Context, spec *cnstypes.CnsVolumeAttachDetachSpec) (uuid string, fault types.BaseMethodFault) {
	if _, ok := ctx.Map.Get(spec.Vm).(*simulator.VirtualMachine); !ok {
		return "", &types.ManagedObjectNotFound{Obj: spec.Vm}
	}
	v := m.take(spec.VolumeId.Id)
	if v == nil {
		return "", new(types.NotFound)
	}
	defer m.release(v, nil)
	if v.file {
		return "", new(types.NotSupported)
	}
	if on := m.holder(ctx, v); on != nil {
		if fault := m.unseen(v.id, on.vm == spec.Vm); fault != nil {
			return "", fault
		}
		return "", inUse() // also if it is that VM: clients look up which one it is
	}
	on, name, fault := m.plugIn(ctx, v, spec)
	if fault != nil {
		return "", fault
	}
	if fault := m.unseen(v.id, true); fault != nil {
		_, _ = m.pullOut(ctx, v, on.vm) // Guests hides the disk; see above
		return "", fault
	}
	m.consumers(ctx, v)
	m.log(v.about(on.vm), event.Info, "volume.attached", "on VM %s, controller %d, unit %d; datastore %s", on.name, on.controller, on.unit, name)
	return v.disk, nil
}

// plugIn adds a disk to a VM, and records it if the disk is a volume; the caller makes other operations on the disk wait. It
// returns the place of the disk and the name of its datastore.
func (m *Manager) plugIn(ctx *simulator.Context, v *volume, spec *cnstypes.CnsVolumeAttachDetachSpec) (on attachment, datastore string, _ types.BaseMethodFault) {
	if refused, _ := m.disksRefused(ctx, spec.Vm); refused != nil {
		return on, "", refused
	}
	s := m.store(ctx, v.datastore)
	if s != nil {
		datastore = s.name
	}
	fault := m.withVM(ctx, spec.Vm, func(vm *simulator.VirtualMachine) types.BaseMethodFault {
		if fault := changeable(vm, "attach"); fault != nil {
			return fault
		}
		if s == nil || !s.reachedBy(*vm.Runtime.Host) {
			cause := &types.InvalidDatastore{Datastore: &v.datastore, Name: datastore}
			return because(cause, "Failed to attach disk: the VM's host does not reach datastore %s", cause.Name)
		}
		at, ok := freeSlot(vm.Config.Hardware.Device, unitsOfParavirtual(ctx), spec.ControllerKey, spec.UnitNumber)
		if !ok {
			return because(&types.TooManyDevices{InvalidVmConfig: types.InvalidVmConfig{Property: "deviceChange[0].device"}},
				"Failed to attach disk: missing SCSI controller: no slot is free on VM %s", vm.Name)
		}
		devices, d := plug(vm.Config.Hardware.Device, v, at, spec.DiskMode, spec.Sharing)
		on = attachment{vm: vm.Self, name: vm.Name, uuid: vm.Config.Uuid, key: d.Key, controller: at.controller, unit: at.unit}
		if !m.claim(v, &on) {
			return inUse()
		}
		m.setDevices(ctx, vm, devices)
		uses(ctx, vm, v.datastore)
		return nil
	})
	return on, datastore, fault
}

// refusedOn logs that attaching or detaching failed, unless the volume is already in the requested state.
func (m *Manager) refusedOn(ctx *simulator.Context, spec *cnstypes.CnsVolumeAttachDetachSpec, what string, fault types.BaseMethodFault) {
	m.mu.Lock()
	s := subject{id: spec.VolumeId.Id, vm: spec.Vm}
	v := m.volumes[spec.VolumeId.Id]
	if _, used := fault.(*types.ResourceInUse); used && v != nil && v.on != nil && v.on.vm == spec.Vm {
		m.mu.Unlock()
		return
	}
	if v != nil {
		s.name = v.name
	}
	why := v.reason(fault)
	m.mu.Unlock()
	s.vmName = m.nameOf(ctx, spec.Vm)
	m.refused(s, what, why)
}

// hang records that the volume is attached. The caller holds the lock.
func (m *Manager) hang(v *volume, a *attachment) {
	m.unhang(v)
	v.on = a
	if m.on[a.vm] == nil {
		m.on[a.vm] = make(map[string]*volume)
	}
	m.on[a.vm][v.id] = v
}

// claim is hang for a disk that is about to be added to a VM whose lock is held. It returns false if the disk is on a VM by now,
// since other clients edit VMs without waiting for CNS. A disk that is not a volume is only looked up.
func (m *Manager) claim(v *volume, a *attachment) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.volumes[v.id] != v {
		_, taken := m.sighted(v.id, v.path)
		return !taken
	}
	if v.on != nil {
		return false
	}
	on := *a
	m.hang(v, &on)
	return true
}

// unhang records that the volume is detached. The caller holds the lock.
func (m *Manager) unhang(v *volume) {
	if v.on == nil {
		return
	}
	vm := v.on.vm
	delete(m.on[vm], v.id)
	if len(m.on[vm]) == 0 {
		delete(m.on, vm)
	}
	v.on = nil
}

// attachedTo returns a copy of the volume's attachment, or nil.
func (m *Manager) attachedTo(v *volume) *attachment {
	m.mu.Lock()
	defer m.mu.Unlock()
	if v.on == nil {
		return nil
	}
	a := *v.on
	return &a
}

// holder is attachedTo for a busy volume, without a VM that is gone but whose end was not reported yet.
func (m *Manager) holder(ctx *simulator.Context, v *volume) *attachment {
	on := m.attachedTo(v)
	if on == nil || ctx.Map.Get(on.vm) != nil {
		return on
	}
	m.left(on.vm, gone)
	return m.attachedTo(v)
}

// Locked reports whether a disk in a client's change of a VM belongs to a volume of another VM, which holds a lock on the file.
func (m *Manager) Locked(vm types.ManagedObjectReference, d *types.VirtualDisk) bool {
	path := fileOf(d)
	m.mu.Lock()
	defer m.mu.Unlock()
	for ref, volumes := range m.on {
		if ref == vm {
			continue
		}
		for _, v := range volumes {
			if v.path == path || d.VDiskId != nil && d.VDiskId.Id == v.id && path == "" {
				return true
			}
		}
	}
	return false
}

// owning runs f, which changes the devices of the VM, without the follower noticing. The caller holds the VM's lock.
func (m *Manager) owning(vm vc.Ref, f func()) {
	m.mu.Lock()
	m.own[vm] = true
	m.mu.Unlock()
	f()
	m.mu.Lock()
	delete(m.own, vm)
	m.mu.Unlock()
}

// The slots of a VM: up to four SCSI controllers with sixteen units, one of which is the controller. From vSphere 8 on, a
// paravirtual one takes 64 disks: a VM has room for 255 volumes and the boot disk, before for 59.
const (
	controllers   = 4
	units         = 16
	wideUnits     = 65
	ownUnit       = 7
	pciKey        = 100
	controllerKey = 1000
	diskKey       = 2000
	scsiUnit      = 3 // of the first SCSI controller on the PCI bus
)

// slot is the place of a disk.
type slot struct {
	controller, unit int32
	bus              int32
	// added is the controller if it must be added; nil if it exists.
	added *types.ParaVirtualSCSIController
}

// freeSlot returns the first free slot, with a new controller if all are full and another one is allowed. If a controller or unit
// is given, no other will do. most is the number of units of a paravirtual controller. It returns false if there is no free slot.
func freeSlot(devices []types.BaseVirtualDevice, most int32, controller, unit *int32) (slot, bool) {
	scsi, taken := scsiControllers(devices), takenUnits(devices)
	wide := paravirtual(devices)
	buses := map[int32]bool{}
	for _, c := range scsi {
		buses[c.BusNumber] = true
		if controller != nil && *controller != c.Key {
			continue
		}
		has := int32(units)
		if wide[c.Key] {
			has = most
		}
		for u := range has {
			if u == ownUnit || unit != nil && *unit != u || taken[unitOf{c.Key, u}] {
				continue
			}
			return slot{controller: c.Key, unit: u, bus: c.BusNumber}, true
		}
	}
	if controller != nil || len(scsi) >= controllers {
		return slot{}, false
	}
	s := slot{}
	if unit != nil {
		if *unit < 0 || *unit >= most || *unit == ownUnit {
			return slot{}, false
		}
		s.unit = *unit
	}
	for buses[s.bus] {
		s.bus++
	}
	s.added = newController(devices, taken, s.bus)
	s.controller = s.added.Key
	return s, true
}

// paravirtual returns the keys of the paravirtual controllers.
func paravirtual(devices []types.BaseVirtualDevice) map[int32]bool {
	all := map[int32]bool{}
	for _, d := range devices {
		if c, ok := d.(*types.ParaVirtualSCSIController); ok {
			all[c.Key] = true
		}
	}
	return all
}

// unitsOfParavirtual returns the number of units of a paravirtual controller in the vCenter's version.
func unitsOfParavirtual(ctx *simulator.Context) int32 {
	s, ok := ctx.Map.Get(vim25.ServiceInstance).(*simulator.ServiceInstance)
	if !ok {
		return units
	}
	major, _, _ := strings.Cut(s.Content.About.Version, ".")
	if n, err := strconv.Atoi(major); err != nil || n < 8 {
		return units
	}
	return wideUnits
}

// unitOf is a unit of a controller.
type unitOf struct{ controller, unit int32 }

func takenUnits(devices []types.BaseVirtualDevice) map[unitOf]bool {
	taken := make(map[unitOf]bool)
	for _, d := range devices {
		if v := d.GetVirtualDevice(); v.UnitNumber != nil {
			taken[unitOf{v.ControllerKey, *v.UnitNumber}] = true
		}
	}
	return taken
}

// scsiControllers returns the SCSI controllers of a VM, in the order of their buses.
func scsiControllers(devices []types.BaseVirtualDevice) (all []*types.VirtualSCSIController) {
	for _, d := range devices {
		if c, ok := d.(types.BaseVirtualSCSIController); ok {
			all = append(all, c.GetVirtualSCSIController())
		}
	}
	slices.SortFunc(all, func(a, b *types.VirtualSCSIController) int { return cmp.Compare(a.BusNumber, b.BusNumber) })
	return all
}

func newController(devices []types.BaseVirtualDevice, taken map[unitOf]bool, bus int32) *types.ParaVirtualSCSIController {
	c := new(types.ParaVirtualSCSIController)
	c.Key, c.BusNumber = freeKey(devices, controllerKey+bus), bus
	c.ControllerKey = pciKey
	unit := int32(scsiUnit) + bus
	for taken[unitOf{pciKey, unit}] {
		unit++
	}
	c.UnitNumber = &unit
	c.DeviceInfo = &types.Description{Label: fmt.Sprintf("SCSI controller %d", bus), Summary: "VMware paravirtual SCSI"}
	c.HotAddRemove = new(true)
	c.SharedBus = types.VirtualSCSISharingNoSharing
	c.ScsiCtlrUnitNumber = ownUnit
	return c
}

// freeKey returns the first free device key, starting from key.
func freeKey(devices []types.BaseVirtualDevice, key int32) int32 {
	for slices.ContainsFunc(devices, func(d types.BaseVirtualDevice) bool { return d.GetVirtualDevice().Key == key }) {
		key++
	}
	return key
}

// CnsDetachVolume detaches volumes from VMs.
func (m *Manager) CnsDetachVolume(_ *simulator.Context, req *cnstypes.CnsDetachVolume) soap.HasFault {
	ref := m.task("CnsDetachVolume", func(ctx *simulator.Context) (types.AnyType, types.BaseMethodFault) {
		if len(req.DetachSpecs) == 0 {
			return nil, &types.InvalidArgument{InvalidProperty: "detachSpecs"}
		}
		all := batch()
		for i := range req.DetachSpecs {
			spec := &req.DetachSpecs[i]
			said := m.scripted("CnsDetachVolume", spec.VolumeId.Id, spec.Vm)
			if said.task != nil {
				return nil, said.task
			}
			fault := said.fault
			if fault == nil {
				fault = m.detach(ctx, spec)
			}
			switch fault.(type) {
			case nil, *types.NotFound, *types.ManagedObjectNotFound: // it is gone
			default:
				m.refusedOn(ctx, spec, "detaching it", fault)
			}
			result := outcome(spec.VolumeId.Id, fault)
			all.VolumeResults = append(all.VolumeResults, &result)
		}
		return all, nil
	})
	return &methods.CnsDetachVolumeBody{Res: &cnstypes.CnsDetachVolumeResponse{Returnval: ref}}
}

// detach removes the volume's disk from a VM, which must be its VM.
func (m *Manager) detach(ctx *simulator.Context, spec *cnstypes.CnsVolumeAttachDetachSpec) types.BaseMethodFault {
	if _, ok := ctx.Map.Get(spec.Vm).(*simulator.VirtualMachine); !ok {
		return &types.ManagedObjectNotFound{Obj: spec.Vm}
	}
	if _, refused := m.disksRefused(ctx, spec.Vm); refused != nil {
		return refused
	}
	v := m.take(spec.VolumeId.Id)
	if v == nil {
		return new(types.NotFound)
	}
	defer m.release(v, nil)
	return m.takeOff(ctx, v, spec.Vm, "")
}

// takeOff detaches a busy volume from a VM. how is appended to the event; empty: by CNS.
func (m *Manager) takeOff(ctx *simulator.Context, v *volume, from vc.Ref, how string) types.BaseMethodFault {
	name, fault := m.pullOut(ctx, v, from)
	if fault != nil {
		return fault
	}
	_ = m.show(v.id) // no guest may see it
	m.consumers(ctx, v)
	level := event.Info
	if how != "" {
		level = event.Warning
	}
	m.log(v.about(from), level, "volume.detached", "from VM %s%s; datastore %s", name, how, m.storeName(ctx, v.datastore))
	return nil
}

// pullOut removes a busy volume's disk from a VM, and returns the VM's name.
func (m *Manager) pullOut(ctx *simulator.Context, v *volume, from vc.Ref) (name string, fault types.BaseMethodFault) {
	fault = m.withVM(ctx, from, func(vm *simulator.VirtualMachine) types.BaseMethodFault {
		if on := m.attachedTo(v); on == nil || on.vm != from {
			return new(types.NotFound)
		}
		if fault := changeable(vm, "detach"); fault != nil {
			return fault
		}
		if inSnapshot(ctx, vm, v.id) {
			// A vCenter has that message for any part of a VM's configuration that it does not accept.
			cause := &types.InvalidDeviceSpec{InvalidVmConfig: types.InvalidVmConfig{Property: "virtualDeviceSpec.device"}}
			return because(cause, "Failed to detach disk: Invalid configuration for device '0'.")
		}
		name = vm.Name
		if d := diskOf(vm.Config.Hardware.Device, v.id, v.path); d != nil {
			m.setDevices(ctx, vm, unplug(vm.Config.Hardware.Device, d))
		}
		usesNot(ctx, vm, v.datastore)
		m.mu.Lock()
		defer m.mu.Unlock()
		m.unhang(v)
		return nil
	})
	return name, fault
}

// inSnapshot reports whether a snapshot of the VM has the disk of a volume: the VM keeps the disk as long as the snapshot exists.
// The caller holds the VM's lock.
func inSnapshot(ctx *simulator.Context, vm *simulator.VirtualMachine, id string) bool {
	if vm.Snapshot == nil {
		return false
	}
	all := slices.Clone(vm.Snapshot.RootSnapshotList)
	for len(all) > 0 {
		at := all[0]
		all = append(all[1:], at.ChildSnapshotList...)
		s, ok := ctx.Map.Get(at.Snapshot).(*simulator.VirtualMachineSnapshot)
		if !ok {
			continue
		}
		for _, d := range s.Config.Hardware.Device { // it does not change
			if disk, ok := d.(*types.VirtualDisk); ok && disk.VDiskId != nil && disk.VDiskId.Id == id {
				return true
			}
		}
	}
	return false
}

// CnsDeleteVolume deletes a volume, and its disk if requested.
func (m *Manager) CnsDeleteVolume(_ *simulator.Context, req *cnstypes.CnsDeleteVolume) soap.HasFault {
	ref := m.task("CnsDeleteVolume", func(ctx *simulator.Context) (types.AnyType, types.BaseMethodFault) {
		if len(req.VolumeIds) == 0 {
			return nil, &types.InvalidArgument{InvalidProperty: "volumeIds"}
		}
		all := batch()
		for _, id := range req.VolumeIds {
			said := m.scripted("CnsDeleteVolume", id.Id, vc.Ref{})
			if said.task != nil {
				return nil, said.task
			}
			fault := said.fault
			if fault == nil {
				fault = m.remove(ctx, id.Id, req.DeleteDisk, "")
			}
			if _, gone := fault.(*types.NotFound); fault != nil && !gone {
				m.refusedFor(id.Id, "deletion", fault)
			}
			result := outcome(id.Id, fault)
			all.VolumeResults = append(all.VolumeResults, &result)
		}
		return all, nil
	})
	return &methods.CnsDeleteVolumeBody{Res: &cnstypes.CnsDeleteVolumeResponse{Returnval: ref}}
}

// remove deletes a volume without attachment and snapshots. how is appended to the event.
func (m *Manager) remove(ctx *simulator.Context, id string, withDisk bool, how string) types.BaseMethodFault {
	v := m.take(id)
	if v == nil {
		return new(types.NotFound)
	}
	fault := m.removable(ctx, v, withDisk)
	if fault != nil {
		m.release(v, nil)
		return fault
	}
	left := ", its disk stays"
	if withDisk {
		left = ""
		if !v.file {
			m.dropDisk(ctx, v.datastore, v.id)
			if s := m.store(ctx, v.datastore); s != nil {
				_ = s.removeFiles(v.path) // no record refers to them
			}
		}
		_ = m.removeContent(v.id)
	}
	m.release(v, func() { m.drop(v) })
	m.log(v.about(vc.Ref{}), event.Info, "volume.deleted", "deleted from datastore %s%s%s", m.storeName(ctx, v.datastore), how, left)
	return nil
}

// removable returns the reason why a busy volume cannot be deleted, or nil.
func (m *Manager) removable(ctx *simulator.Context, v *volume, withDisk bool) types.BaseMethodFault {
	if m.holder(ctx, v) != nil {
		return inUse()
	}
	if len(v.snapshot) > 0 {
		return because(new(types.InvalidState), "Failed to delete disk: volume %s has snapshots (%d)", v.id, len(v.snapshot))
	}
	if withDisk && !v.file {
		if s := m.store(ctx, v.datastore); s != nil && len(s.hosts) == 0 {
			return inaccessible(s, "no host reaches it")
		}
	}
	return nil
}

// refusedFor logs that an operation on a volume failed.
func (m *Manager) refusedFor(id, what string, fault types.BaseMethodFault) {
	m.mu.Lock()
	s := subject{id: id}
	v := m.volumes[id]
	if v != nil {
		s.name = v.name
		if v.on != nil {
			s.vm = v.on.vm
		}
	}
	why := v.reason(fault)
	m.mu.Unlock()
	m.refused(s, what, why)
}
