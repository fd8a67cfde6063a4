package cns

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	vslmmethods "github.com/vmware/govmomi/vslm/methods"
	vslmsim "github.com/vmware/govmomi/vslm/simulator"
	vslmtypes "github.com/vmware/govmomi/vslm/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// guardedVSLM is vcsim's vSLM with a lock on the catalogue of disks: vcsim iterates over the catalogue without one, which crashes
// the process when CNS adds a disk. It attaches disks as CNS does.
type guardedVSLM struct {
	*vslmsim.VStorageObjectManager
	m *Manager
}

// Lock implements sync.Locker; vcsim locks an object for a call.
func (g *guardedVSLM) Lock() { g.m.disks.Lock() }

// Unlock implements sync.Locker.
func (g *guardedVSLM) Unlock() { g.m.disks.Unlock() }

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

// Guard makes vcsim's vSLM registry safe to use with CNS, and returns it.
func (m *Manager) Guard(vslm *simulator.Registry) *simulator.Registry {
	ref := types.ManagedObjectReference{Type: "VslmVStorageObjectManager", Value: "VStorageObjectManager"}
	if om, ok := vslm.Get(ref).(*vslmsim.VStorageObjectManager); ok {
		vslm.Put(&guardedVSLM{om, m})
	}
	return vslm
}
