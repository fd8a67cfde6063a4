package cns

import (
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	vslmmethods "github.com/vmware/govmomi/vslm/methods"
	vslmsim "github.com/vmware/govmomi/vslm/simulator"
	vslmtypes "github.com/vmware/govmomi/vslm/types"

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

// CNS changes vcsim's catalogue of first-class disks. It replaces entries instead of changing them, because answers of vcsim may
// hold them.

// disk is an entry of the catalogue.
type disk = simulator.VStorageObject

// catalogue calls f with the catalogue locked.
func (m *Manager) catalogue(ctx *simulator.Context, f func(all map[vc.Ref]map[types.ID]*disk)) {
	if m.vslm != nil { // before the manager's own lock, as calls of vSLM do: see Guard
		defer m.vslm.AcquireLock(vc.Fresh(ctx), vslmManager)()
	}
	om := ctx.Map.VStorageObjectManager()
	ctx.WithLock(om, func() { f(om.Catalog()) })
}

// findDisk looks for a disk in all datastores, and returns a copy.
func (m *Manager) findDisk(ctx *simulator.Context, id string) (d disk, found bool) {
	m.catalogue(ctx, func(all map[vc.Ref]map[types.ID]*disk) {
		for _, disks := range all {
			if is := disks[types.ID{Id: id}]; is != nil {
				d, found = *is, true
				return
			}
		}
	})
	return d, found
}

// putDisk adds or replaces a disk.
func (m *Manager) putDisk(ctx *simulator.Context, d *disk) {
	ref := d.Config.Backing.GetBaseConfigInfoBackingInfo().Datastore
	m.catalogue(ctx, func(all map[vc.Ref]map[types.ID]*disk) {
		if all[ref] == nil {
			all[ref] = make(map[types.ID]*disk)
		}
		all[ref][d.Config.Id] = d
	})
}

// editDisk replaces a disk with a changed copy. It looks in all datastores, because a volume's record may say earlier than the
// catalogue that the volume has moved.
func (m *Manager) editDisk(ctx *simulator.Context, id string, change func(d *disk)) {
	key := types.ID{Id: id}
	m.catalogue(ctx, func(all map[vc.Ref]map[types.ID]*disk) {
		for _, disks := range all {
			if is := disks[key]; is != nil {
				d := *is
				change(&d)
				disks[key] = &d
				return
			}
		}
	})
}

// dropDisk removes a disk from the catalogue.
func (m *Manager) dropDisk(ctx *simulator.Context, on vc.Ref, id string) {
	m.catalogue(ctx, func(all map[vc.Ref]map[types.ID]*disk) { delete(all[on], types.ID{Id: id}) })
}

// consumers updates the catalogue with the VM that has a disk, as CNS knows it now. The volume may be in any state, even about to
// be relocated.
func (m *Manager) consumers(ctx *simulator.Context, v *volume) {
	m.editDisk(ctx, v.id, func(d *disk) {
		m.mu.Lock()
		defer m.mu.Unlock()
		d.Config.ConsumerId = nil
		if v.on != nil {
			d.Config.ConsumerId = []types.ID{{Id: v.on.uuid}}
		} else if m.volumes[v.id] != v {
			path := v.path
			if b, ok := d.Config.Backing.(*types.BaseConfigInfoDiskFileBackingInfo); ok {
				path = b.FilePath // a copy on another VM has the same ID for a short time
			}
			if at, ok := m.sighted(v.id, path); ok {
				d.Config.ConsumerId = []types.ID{{Id: at.uuid}}
			}
		}
	})
}

// guardedVSLM is vcsim's vSLM, whose calls hold its lock: so do the manager's own uses of the catalogue of disks. vcsim iterates over
// the catalogue without a lock, which crashes the process when CNS adds a disk. It attaches disks as CNS does.
type guardedVSLM struct {
	*vslmsim.VStorageObjectManager
	m *Manager
}

// VslmAttachDiskTask is AttachDisk_Task of the VM. Fault: ManagedObjectNotFound.
func (g *guardedVSLM) VslmAttachDiskTask(ctx *simulator.Context, req *vslmtypes.VslmAttachDisk_Task) soap.HasFault {
	body := new(vslmmethods.VslmAttachDisk_TaskBody)
	vctx := ctx.For(vim25.Path)
	if _, ok := vctx.Map.Get(req.Vm).(*simulator.VirtualMachine); !ok {
		body.Fault_ = simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.Vm})
		return body
	}
	task := g.m.attachTask(&types.AttachDisk_Task{
		This: req.Vm, DiskId: req.Id, Datastore: g.on(vctx, req.Id), ControllerKey: req.ControllerKey, UnitNumber: req.UnitNumber,
	})
	proxy := &vslmsim.VslmTask{ManagedObjectReference: types.ManagedObjectReference{Type: "VslmTask", Value: task.Value}}
	body.Res = &vslmtypes.VslmAttachDisk_TaskResponse{Returnval: ctx.Map.Put(proxy).Reference()}
	return body
}

// VslmListVStorageObjectsAttachedToTag corrects vcsim's, which panics.
func (g *guardedVSLM) VslmListVStorageObjectsAttachedToTag(ctx *simulator.Context, req *vslmtypes.VslmListVStorageObjectsAttachedToTag) soap.HasFault {
	body := new(vslmmethods.VslmListVStorageObjectsAttachedToTagBody)
	vctx := ctx.For(vim25.Path)
	om := vctx.Map.VStorageObjectManager()
	answer := om.ListVStorageObjectsAttachedToTag(vctx, &types.ListVStorageObjectsAttachedToTag{This: om.Self, Category: req.Category, Tag: req.Tag})
	if found, ok := answer.(*methods.ListVStorageObjectsAttachedToTagBody); ok && found.Res != nil {
		body.Res = &vslmtypes.VslmListVStorageObjectsAttachedToTagResponse{Returnval: found.Res.Returnval}
	} else {
		body.Fault_ = answer.Fault()
	}
	return body
}

// on returns the datastore of a disk. The caller guards the catalogue.
func (g *guardedVSLM) on(ctx *simulator.Context, id types.ID) (datastore types.ManagedObjectReference) {
	om := ctx.Map.VStorageObjectManager()
	vc.Fresh(ctx).WithLock(om, func() {
		for ref, disks := range om.Catalog() {
			if disks[id] != nil {
				datastore = ref
			}
		}
	})
	return datastore
}

// vslmManager is the object of vSLM that has its calls.
var vslmManager = types.ManagedObjectReference{Type: "VslmVStorageObjectManager", Value: "VStorageObjectManager"}

// Guard makes vcsim's vSLM registry safe to use with CNS, and returns it. It is called before the first use of the manager.
func (m *Manager) Guard(vslm *simulator.Registry) *simulator.Registry {
	if om, ok := vslm.Get(vslmManager).(*vslmsim.VStorageObjectManager); ok {
		vslm.Put(&guardedVSLM{om, m})
		m.vslm = vslm
	}
	return vslm
}
