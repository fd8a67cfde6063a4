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

// PowerDownHostToStandByTask puts a host to standby, when the VMs that have to leave it have left.
func (h *Hosts) PowerDownHostToStandByTask(ctx *simulator.Context, req *types.PowerDownHostToStandBy_Task) soap.HasFault {
	ref := h.task(ctx, req.This, "PowerDownHostToStandBy", "powerDownToStandBy", func(host *simulator.HostSystem, t *simulator.Task) types.BaseMethodFault {
		var fault types.BaseMethodFault
		h.turn(host.Self, func(c *condition) bool {
			if fault = c.fault(); fault == nil && c.leaving {
				fault = new(types.InvalidState)
			}
			if fault == nil {
				c.leaving, c.mode = true, types.HostStandbyModeEntering
			}
			return fault == nil
		})
		if fault != nil {
			return fault
		}
		h.publish(host.Self, 0)
		vc.Post(ctx, &types.EnteringStandbyModeEvent{HostEvent: Event(ctx, host, "The host %s is entering standby mode", host.Name)})
		cause := h.logHost(host, event.Info, "host.entering-standby", "goes to standby when its VMs have left")
		all := req.EvacuatePoweredOffVms != nil && *req.EvacuatePoweredOffVms
		if fault := h.empty(ctx, host, t, all, cause, req.TimeoutSec, func(c *condition) {
			c.machine, c.mode = standby, types.HostStandbyModeIn
		}); fault != nil {
			return fault
		}
		vc.Post(ctx, &types.EnteredStandbyModeEvent{HostEvent: Event(ctx, host, "The host %s is in standby mode", host.Name)})
		h.publish(host.Self, h.logHost(host, event.Warning, "host.standby", "is in standby"))
		return nil
	})
	return &methods.PowerDownHostToStandBy_TaskBody{Res: &types.PowerDownHostToStandBy_TaskResponse{Returnval: ref}}
}

// PowerUpHostFromStandByTask wakes a host, which takes Options.Boot.
func (h *Hosts) PowerUpHostFromStandByTask(ctx *simulator.Context, req *types.PowerUpHostFromStandBy_Task) soap.HasFault {
	ref := h.task(ctx, req.This, "PowerUpHostFromStandBy", "powerUpFromStandBy", func(host *simulator.HostSystem, _ *simulator.Task) types.BaseMethodFault {
		var fault types.BaseMethodFault
		h.turn(host.Self, func(c *condition) bool {
			switch {
			case c.disconnected:
				fault = new(types.HostNotConnected)
			case c.machine != standby || c.mode != types.HostStandbyModeIn:
				fault = new(types.InvalidState)
			default:
				c.mode = types.HostStandbyModeExiting
			}
			return fault == nil
		})
		if fault != nil {
			return fault
		}
		h.publish(host.Self, 0)
		vc.Post(ctx, &types.ExitingStandbyModeEvent{HostEvent: Event(ctx, host, "The host %s is exiting standby mode", host.Name)})
		wait := h.opts.Boot
		if limit := time.Duration(req.TimeoutSec) * time.Second; limit > 0 && limit < wait {
			h.sleep(limit)
			h.turn(host.Self, func(c *condition) bool { c.mode = types.HostStandbyModeIn; return c.machine == standby })
			h.publish(host.Self, 0)
			return new(types.Timedout)
		}
		if !h.sleep(wait) {
			return new(types.RequestCanceled)
		}
		if !h.rise(host, func(c condition) bool { return c.machine == standby }) {
			return new(types.InvalidState) // somebody else brought it back
		}
		vc.Post(ctx, &types.ExitedStandbyModeEvent{HostEvent: Event(ctx, host, "The host %s is no longer in standby mode", host.Name)})
		return nil
	})
	return &methods.PowerUpHostFromStandBy_TaskBody{Res: &types.PowerUpHostFromStandBy_TaskResponse{Returnval: ref}}
}
