package host

import (
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// DatastoreEnterMaintenanceMode puts a datastore into maintenance mode once no VM has files on it. There is no Storage DRS, which
// would move the VMs: the task waits until users do. Volumes on no VM stay.
func (h *Hosts) DatastoreEnterMaintenanceMode(ctx *simulator.Context, req *types.DatastoreEnterMaintenanceMode) soap.HasFault {
	ref := h.datastoreTask(ctx, req.This, "DatastoreEnterMaintenanceMode", "enterMaintenanceMode", func(ctx *simulator.Context, ds *simulator.Datastore, t *simulator.Task, cause uint64) types.BaseMethodFault {
		if !h.setMaintenance(ctx, ds, types.DatastoreSummaryMaintenanceModeStateNormal, types.DatastoreSummaryMaintenanceModeStateEnteringMaintenance) {
			return new(types.InvalidState)
		}
		h.log(event.Object{Kind: "Datastore", Name: ds.Name}, ds.Self, event.Info, "datastore.entering-maintenance", cause, "enters maintenance mode when its VMs have left")
		recheck := time.NewTicker(time.Second) // not every change of files is noticed
		defer recheck.Stop()
		for {
			changed := h.watcher.next() // before reading, to miss no change
			left := 0
			ctx.WithLock(ds, func() { left = len(ds.Vm) })
			if left == 0 && h.setMaintenance(ctx, ds, types.DatastoreSummaryMaintenanceModeStateEnteringMaintenance, types.DatastoreSummaryMaintenanceModeStateInMaintenance) {
				h.log(event.Object{Kind: "Datastore", Name: ds.Name}, ds.Self, event.Warning, "datastore.maintenance", cause, "is in maintenance mode")
				return nil
			}
			if canceled(ctx, t) {
				h.setMaintenance(ctx, ds, types.DatastoreSummaryMaintenanceModeStateEnteringMaintenance, types.DatastoreSummaryMaintenanceModeStateNormal)
				return new(types.RequestCanceled)
			}
			select {
			case <-changed:
			case <-recheck.C:
			case <-h.stop:
				return new(types.RequestCanceled)
			}
		}
	})
	return &methods.DatastoreEnterMaintenanceModeBody{Res: &types.DatastoreEnterMaintenanceModeResponse{
		Returnval: types.StoragePlacementResult{Task: &ref},
	}}
}

// DatastoreExitMaintenanceModeTask ends the maintenance mode of a datastore.
func (h *Hosts) DatastoreExitMaintenanceModeTask(ctx *simulator.Context, req *types.DatastoreExitMaintenanceMode_Task) soap.HasFault {
	ref := h.datastoreTask(ctx, req.This, "DatastoreExitMaintenanceMode", "exitMaintenanceMode", func(ctx *simulator.Context, ds *simulator.Datastore, _ *simulator.Task, cause uint64) types.BaseMethodFault {
		if !h.setMaintenance(ctx, ds, types.DatastoreSummaryMaintenanceModeStateInMaintenance, types.DatastoreSummaryMaintenanceModeStateNormal) {
			return new(types.InvalidState)
		}
		h.log(event.Object{Kind: "Datastore", Name: ds.Name}, ds.Self, event.Info, "datastore.maintenance-ended", cause, "is back from maintenance mode")
		return nil
	})
	return &methods.DatastoreExitMaintenanceMode_TaskBody{Res: &types.DatastoreExitMaintenanceMode_TaskResponse{Returnval: ref}}
}

// datastoreTask answers a call on a datastore with a task that runs f. cause is the event that caused the call, or 0.
func (h *Hosts) datastoreTask(ctx *simulator.Context, ref vc.Ref, method, id string, f func(ctx *simulator.Context, ds *simulator.Datastore, t *simulator.Task, cause uint64) types.BaseMethodFault) vc.Ref {
	h.mu.Lock()
	cause := h.causes[ref] // now: the task may continue after what caused it has returned
	h.mu.Unlock()
	t := simulator.CreateTask(ref, id, func(t *simulator.Task) (types.AnyType, types.BaseMethodFault) {
		ctx := vc.Fresh(h.base)
		ds, ok := ctx.Map.Get(ref).(*simulator.Datastore)
		if !ok {
			return nil, &types.ManagedObjectNotFound{Obj: ref}
		}
		if !h.begin() {
			return nil, new(types.RequestCanceled)
		}
		defer h.work.Done()
		return nil, f(ctx, ds, t, cause)
	})
	t.Info.Name = method + "_Task"
	t.Info.Cancelable = cancelable[id]
	return vc.Run(ctx, t)
}

// setMaintenance changes the state of a datastore, and reports whether it had the expected one.
func (h *Hosts) setMaintenance(ctx *simulator.Context, ds *simulator.Datastore, from, to types.DatastoreSummaryMaintenanceModeState) (changed bool) {
	ctx.WithLock(ds, func() {
		is := ds.Summary.MaintenanceMode
		if is == "" {
			is = string(types.DatastoreSummaryMaintenanceModeStateNormal)
		}
		if changed = is == string(from); changed {
			ctx.Update(ds, []types.PropertyChange{vc.P("summary.maintenanceMode", string(to))})
		}
	})
	return changed
}
