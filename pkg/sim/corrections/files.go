package corrections

import (
	"cmp"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// Tasks of file operations. vcsim names the FileManager as their entity, which is no entity: pyvmomi refuses to read such a task. The
// entity is the datacenter of the files.

// CopyDatastoreFileTask copies a file.
func (c *Corrections) CopyDatastoreFileTask(ctx *simulator.Context, req *types.CopyDatastoreFile_Task) soap.HasFault {
	task, fault := fileTask(ctx, req.This, "copyDatastoreFile", func(ctx *simulator.Context, fm *simulator.FileManager) vc.Ref {
		return fm.CopyDatastoreFileTask(ctx, req).(*methods.CopyDatastoreFile_TaskBody).Res.Returnval
	}, req.DestinationDatacenter, req.SourceDatacenter)
	if fault != nil {
		return &methods.CopyDatastoreFile_TaskBody{Fault_: fault}
	}
	return &methods.CopyDatastoreFile_TaskBody{Res: &types.CopyDatastoreFile_TaskResponse{Returnval: task}}
}

// MoveDatastoreFileTask moves a file.
func (c *Corrections) MoveDatastoreFileTask(ctx *simulator.Context, req *types.MoveDatastoreFile_Task) soap.HasFault {
	task, fault := fileTask(ctx, req.This, "moveDatastoreFile", func(ctx *simulator.Context, fm *simulator.FileManager) vc.Ref {
		return fm.MoveDatastoreFileTask(ctx, req).(*methods.MoveDatastoreFile_TaskBody).Res.Returnval
	}, req.DestinationDatacenter, req.SourceDatacenter)
	if fault != nil {
		return &methods.MoveDatastoreFile_TaskBody{Fault_: fault}
	}
	return &methods.MoveDatastoreFile_TaskBody{Res: &types.MoveDatastoreFile_TaskResponse{Returnval: task}}
}

// DeleteDatastoreFileTask deletes a file or a directory.
func (c *Corrections) DeleteDatastoreFileTask(ctx *simulator.Context, req *types.DeleteDatastoreFile_Task) soap.HasFault {
	task, fault := fileTask(ctx, req.This, "deleteDatastoreFile", func(ctx *simulator.Context, fm *simulator.FileManager) vc.Ref {
		return fm.DeleteDatastoreFileTask(ctx, req).(*methods.DeleteDatastoreFile_TaskBody).Res.Returnval
	}, req.Datacenter)
	if fault != nil {
		return &methods.DeleteDatastoreFile_TaskBody{Fault_: fault}
	}
	return &methods.DeleteDatastoreFile_TaskBody{Res: &types.DeleteDatastoreFile_TaskResponse{Returnval: task}}
}

// fileTask starts a task on the first datacenter of the list, or else on any, that waits for a task of vcsim.
func fileTask(ctx *simulator.Context, manager vc.Ref, name string, start func(*simulator.Context, *simulator.FileManager) vc.Ref, on ...*vc.Ref) (vc.Ref, *soap.Fault) {
	fm, ok := ctx.Map.Get(manager).(*simulator.FileManager)
	if !ok {
		return vc.Ref{}, simulator.Fault("", &types.ManagedObjectNotFound{Obj: manager})
	}
	entity := manager
	if dc := cmp.Or(on...); dc != nil {
		entity = *dc
	} else if dc := ctx.Map.Any("Datacenter"); dc != nil {
		entity = dc.Reference()
	}
	task := simulator.CreateTask(entity, name, func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		ctx := vc.Fresh(ctx)
		var inner vc.Ref
		ctx.WithLock(fm, func() { inner = start(ctx, fm) })
		return vc.Await(ctx, inner)
	})
	task.Info.DescriptionId = "FileManager." + name
	return vc.Run(ctx, task), nil
}
