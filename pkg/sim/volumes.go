package sim

import (
	"github.com/vmware/govmomi/cns"
	cnsmethods "github.com/vmware/govmomi/cns/methods"
	cnssim "github.com/vmware/govmomi/cns/simulator"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/inventory"
)

// volumeManager is vcsim's CNS volume manager, with
//
//   - queries that wait for creations: in vcsim the two lock in different registries, and a query during a creation ends
//     the process ("concurrent map iteration and map write");
//   - the URLs of datastores that clients see elsewhere, in the place of directories of ours;
//   - a fault for VMs and datastores that are not there, which vcsim takes for granted.
type volumeManager struct{ *cnssim.CnsVolumeManager }

func volumes(r *simulator.Registry) *simulator.Registry {
	if m, ok := r.Get(cns.CnsVolumeManagerInstance).(*cnssim.CnsVolumeManager); ok {
		r.Put(&volumeManager{m})
	}
	return r
}

// CnsQueryVolume holds the lock that CNS tasks hold.
func (m *volumeManager) CnsQueryVolume(ctx *simulator.Context, req *cnstypes.CnsQueryVolume) (body soap.HasFault) {
	if req.Filter == nil { // on which vcsim panics, with the lock held
		return &cnsmethods.CnsQueryVolumeBody{Fault_: simulator.Fault("", &types.InvalidArgument{InvalidProperty: "filter"})}
	}
	m.locked(ctx, func() { body = m.CnsVolumeManager.CnsQueryVolume(ctx, req) })
	if b, ok := body.(*cnsmethods.CnsQueryVolumeBody); ok && b.Res != nil {
		m.show(ctx, b.Res.Returnval.Volumes)
	}
	return body
}

// CnsQueryAllVolume holds the lock that CNS tasks hold.
func (m *volumeManager) CnsQueryAllVolume(ctx *simulator.Context, req *cnstypes.CnsQueryAllVolume) (body soap.HasFault) {
	m.locked(ctx, func() { body = m.CnsVolumeManager.CnsQueryAllVolume(ctx, req) })
	if b, ok := body.(*cnsmethods.CnsQueryAllVolumeBody); ok && b.Res != nil {
		m.show(ctx, b.Res.Returnval.Volumes)
	}
	return body
}

// CnsQueryAsync is a query as a task.
func (m *volumeManager) CnsQueryAsync(ctx *simulator.Context, req *cnstypes.CnsQueryAsync) soap.HasFault {
	// The volume manager is what the task is on, and thereby locked.
	task := simulator.CreateTask(m, "QueryVolumeAsync", func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		found := new(cnstypes.CnsAsyncQueryResult)
		answer := m.CnsVolumeManager.CnsQueryVolume(ctx, &cnstypes.CnsQueryVolume{This: req.This, Filter: &req.Filter})
		if b, ok := answer.(*cnsmethods.CnsQueryVolumeBody); ok && b.Res != nil {
			found.QueryResult = b.Res.Returnval
			m.show(ctx, found.QueryResult.Volumes)
		}
		return &cnstypes.CnsVolumeOperationBatchResult{VolumeResults: []cnstypes.BaseCnsVolumeOperationResult{found}}, nil
	})
	return &cnsmethods.CnsQueryAsyncBody{Res: &cnstypes.CnsQueryAsyncResponse{Returnval: task.Run(ctx.For(vim25.Path))}}
}

// CnsCreateVolume makes sure that the datastores are there.
func (m *volumeManager) CnsCreateVolume(ctx *simulator.Context, req *cnstypes.CnsCreateVolume) soap.HasFault {
	for _, spec := range req.CreateSpecs {
		for _, ref := range spec.Datastores {
			if _, ok := ctx.For(vim25.Path).Map.Get(ref).(*simulator.Datastore); !ok {
				return &cnsmethods.CnsCreateVolumeBody{Fault_: missing(ref)}
			}
		}
	}
	return m.CnsVolumeManager.CnsCreateVolume(ctx, req)
}

// CnsAttachVolume makes sure that the VMs are there. CnsDetachVolume does not: a volume of a VM that is gone can be
// detached.
func (m *volumeManager) CnsAttachVolume(ctx *simulator.Context, req *cnstypes.CnsAttachVolume) soap.HasFault {
	for _, spec := range req.AttachSpecs {
		if _, ok := ctx.For(vim25.Path).Map.Get(spec.Vm).(*simulator.VirtualMachine); !ok {
			return &cnsmethods.CnsAttachVolumeBody{Fault_: missing(spec.Vm)}
		}
	}
	return m.CnsVolumeManager.CnsAttachVolume(ctx, req)
}

func missing(ref types.ManagedObjectReference) *soap.Fault {
	return simulator.Fault("", &types.ManagedObjectNotFound{Obj: ref})
}

func (m *volumeManager) locked(ctx *simulator.Context, f func()) {
	ctx.For(vim25.Path).WithLock(m.Reference(), f)
}

// show puts in the URLs of datastores that clients know. The volumes are copies.
func (m *volumeManager) show(ctx *simulator.Context, volumes []cnstypes.CnsVolume) {
	if len(volumes) == 0 {
		return
	}
	urls := make(map[string]string)
	inner := vc.Fresh(ctx.For(vim25.Path))
	for _, e := range inner.Map.All("Datastore") {
		if ds, ok := e.(*simulator.Datastore); ok && ds.Info != nil {
			inner.WithLock(ds, func() { urls[ds.Info.GetDatastoreInfo().Url] = inventory.URL(&ds.Datastore) })
		}
	}
	for i, v := range volumes {
		if url, ok := urls[v.DatastoreUrl]; ok {
			volumes[i].DatastoreUrl = url
		}
	}
}
