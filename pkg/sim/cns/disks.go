package cns

import (
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/redirect"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// disks implements the calls by which clients attach first-class disks to VMs without CNS. vcsim only records the consumer of a
// disk, and gives the VM no device.
type disks struct {
	redirect.Receiver
	m *Manager
}

func newDisks(m *Manager) *disks {
	return &disks{m: m, Receiver: redirect.Receiver{
		Self:    vc.Ref{Type: "SandboxDisks", Value: "sandbox-disks"},
		Methods: map[string][]string{"VirtualMachine": {"AttachDisk_Task", "DetachDisk_Task"}},
	}}
}

// Redirect answers calls about first-class disks in the place of vcsim, and reports whether it did. Call it from the call hook of
// the vim25 registry.
func (m *Manager) Redirect(ctx *simulator.Context, method *simulator.Method) bool {
	return m.firstClass.Redirect(ctx, method)
}

// AttachDiskTask attaches a first-class disk to a VM. Faults: NotFound, FileLocked, and the reason why the VM cannot take it.
func (d *disks) AttachDiskTask(_ *simulator.Context, req *types.AttachDisk_Task) soap.HasFault {
	return &methods.AttachDisk_TaskBody{Res: &types.AttachDisk_TaskResponse{Returnval: d.m.attachTask(req)}}
}

// DetachDiskTask detaches a first-class disk from a VM. Faults: NotFound, and the reason why the VM cannot be changed.
func (d *disks) DetachDiskTask(_ *simulator.Context, req *types.DetachDisk_Task) soap.HasFault {
	return &methods.DetachDisk_TaskBody{Res: &types.DetachDisk_TaskResponse{
		Returnval: d.m.taskOn(req.This, "detachDisk", func(ctx *simulator.Context) (types.AnyType, types.BaseMethodFault) {
			return nil, plain(d.m.detachDisk(ctx, req), "")
		}),
	}}
}

func (m *Manager) attachTask(req *types.AttachDisk_Task) vc.Ref {
	return m.taskOn(req.This, "attachDisk", func(ctx *simulator.Context) (types.AnyType, types.BaseMethodFault) {
		return nil, m.attachDisk(ctx, req)
	})
}

// attachDisk is attach for a disk that need not be a volume.
func (m *Manager) attachDisk(ctx *simulator.Context, req *types.AttachDisk_Task) types.BaseMethodFault {
	spec := &cnstypes.CnsVolumeAttachDetachSpec{
		VolumeId: cnstypes.CnsVolumeId{Id: req.DiskId.Id}, Vm: req.This, UnitNumber: req.UnitNumber,
	}
	if req.ControllerKey != 0 {
		spec.ControllerKey = &req.ControllerKey
	}
	// From here on no other call can delete the disk, make it a volume, or attach it in this way.
	made, done := m.make(makingKey{id: req.DiskId.Id})
	if made == nil {
		defer done()
	}
	d, found := m.findDisk(ctx, req.DiskId.Id)
	if !found || d.Config.Backing.GetBaseConfigInfoBackingInfo().Datastore != req.Datastore {
		return new(types.NotFound)
	}
	v, ok := m.diskAsVolume(&d)
	if !ok {
		return new(types.NotSupported)
	}
	if made != nil { // a volume; if it is gone by now, attach returns that
		_, fault := m.attach(ctx, spec)
		return plain(fault, v.path)
	}
	if _, _, fault := m.plugIn(ctx, v, spec); fault != nil {
		return plain(fault, v.path)
	}
	if fault := m.unseen(v.id, true); fault != nil {
		_ = m.pullDisk(ctx, req.This, v.id)
		return plain(fault, v.path)
	}
	m.consumers(ctx, v)
	return nil
}

// detachDisk is detach for a disk that need not be a volume.
func (m *Manager) detachDisk(ctx *simulator.Context, req *types.DetachDisk_Task) types.BaseMethodFault {
	id := req.DiskId.Id
	made, done := m.make(makingKey{id: id})
	if made != nil {
		return m.detach(ctx, &cnstypes.CnsVolumeAttachDetachSpec{VolumeId: cnstypes.CnsVolumeId{Id: id}, Vm: req.This})
	}
	defer done()
	if _, refused := m.disksRefused(ctx, req.This); refused != nil {
		return refused
	}
	m.mu.Lock()
	at := m.seen[req.This][id]
	m.mu.Unlock()
	if fault := m.pullDisk(ctx, req.This, id); fault != nil {
		return fault
	}
	_ = m.show(id) // no guest may see it
	m.consumers(ctx, &volume{id: id, path: at.path})
	return nil
}

// pullDisk removes a disk that is not a volume from a VM.
func (m *Manager) pullDisk(ctx *simulator.Context, from vc.Ref, id string) types.BaseMethodFault {
	m.mu.Lock()
	at, there := m.seen[from][id]
	m.mu.Unlock()
	if !there {
		return new(types.NotFound)
	}
	return m.withVM(ctx, from, func(vm *simulator.VirtualMachine) types.BaseMethodFault {
		if fault := changeable(vm, "detach"); fault != nil {
			return fault
		}
		d := diskOf(vm.Config.Hardware.Device, id, at.path)
		if d == nil {
			return new(types.NotFound)
		}
		m.setDevices(ctx, vm, unplug(vm.Config.Hardware.Device, d))
		usesNot(ctx, vm, at.datastore)
		return nil
	})
}

// diskAsVolume returns the volume that a disk would be; false if the disk has no file.
func (m *Manager) diskAsVolume(d *disk) (*volume, bool) {
	b, ok := d.Config.Backing.(*types.BaseConfigInfoDiskFileBackingInfo)
	if !ok {
		return nil, false
	}
	id := d.Config.Id.Id
	return &volume{
		id: id, name: d.Config.Name, capacity: d.Config.CapacityInMB, datastore: b.Datastore, path: b.FilePath,
		disk: m.diskUUID(id), keep: d.Config.KeepAfterDeleteVm != nil && *d.Config.KeepAfterDeleteVm,
	}, true
}

// plain returns vSphere's own fault in the place of a CNS fault, for a disk with that file.
func plain(fault types.BaseMethodFault, file string) types.BaseMethodFault {
	switch f := fault.(type) {
	case *types.ResourceInUse:
		return &types.FileLocked{FileFault: types.FileFault{File: file}}
	case *cnstypes.CnsFault:
		if f.FaultCause != nil {
			return f.FaultCause.Fault
		}
		return &types.SystemError{Reason: f.Reason}
	}
	return fault
}
