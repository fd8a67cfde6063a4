package host

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// EnterMaintenanceModeTask puts a host into maintenance mode when no VM runs on it any more. In a cluster with DRS, fully
// automated, they are moved away; elsewhere the task waits until somebody moves them or powers them off.
func (h *Hosts) EnterMaintenanceModeTask(ctx *simulator.Context, req *types.EnterMaintenanceMode_Task) soap.HasFault {
	ref := h.task(ctx, req.This, "EnterMaintenanceMode", "enterMaintenanceMode", func(host *simulator.HostSystem, t *simulator.Task) types.BaseMethodFault {
		var fault types.BaseMethodFault
		h.turn(host.Self, func(c *condition) bool {
			if fault = c.fault(); fault == nil && (c.leaving || c.maintenance) {
				fault = new(types.InvalidState)
			}
			if fault == nil {
				c.leaving = true
			}
			return fault == nil
		})
		if fault != nil {
			return fault
		}
		e := Event(ctx, host, "")
		e.FullFormattedMessage = "Host " + host.Name + " in " + placeOf(e) + " has started to enter maintenance mode"
		vc.Post(ctx, &types.EnteringMaintenanceModeEvent{HostEvent: e})
		cause := h.logHost(host, event.Info, "host.entering-maintenance", "enters maintenance mode when its VMs have left")
		all := req.EvacuatePoweredOffVms != nil && *req.EvacuatePoweredOffVms
		if fault := h.empty(ctx, host, t, all, cause, req.Timeout, func(c *condition) { c.maintenance = true }); fault != nil {
			return fault
		}
		e = Event(ctx, host, "")
		e.FullFormattedMessage = "Host " + host.Name + " in " + placeOf(e) + " has entered maintenance mode"
		vc.Post(ctx, &types.EnteredMaintenanceModeEvent{HostEvent: e})
		h.logHost(host, event.Warning, "host.maintenance", "is in maintenance mode")
		return nil
	})
	return &methods.EnterMaintenanceMode_TaskBody{Res: &types.EnterMaintenanceMode_TaskResponse{Returnval: ref}}
}

// ExitMaintenanceModeTask ends maintenance mode. VMs do not come back by themselves.
func (h *Hosts) ExitMaintenanceModeTask(ctx *simulator.Context, req *types.ExitMaintenanceMode_Task) soap.HasFault {
	ref := h.task(ctx, req.This, "ExitMaintenanceMode", "exitMaintenanceMode", func(host *simulator.HostSystem, _ *simulator.Task) types.BaseMethodFault {
		var fault types.BaseMethodFault
		h.starting.Lock()
		h.turn(host.Self, func(c *condition) bool {
			if fault = c.fault(); fault == nil && !c.maintenance {
				fault = new(types.InvalidState)
			}
			if fault == nil {
				c.maintenance = false
			}
			return fault == nil
		})
		if fault == nil {
			h.publish(host.Self, 0)
		}
		h.starting.Unlock()
		if fault != nil {
			return fault
		}
		e := Event(ctx, host, "")
		e.FullFormattedMessage = "Host " + host.Name + " in " + placeOf(e) + " has exited maintenance mode"
		vc.Post(ctx, &types.ExitMaintenanceModeEvent{HostEvent: e})
		h.logHost(host, event.Info, "host.maintenance-ended", "is back from maintenance mode")
		return nil
	})
	return &methods.ExitMaintenanceMode_TaskBody{Res: &types.ExitMaintenanceMode_TaskResponse{Returnval: ref}}
}
