package host

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// DisconnectHostTask lets the vCenter look away from a host: VMs run on, and it knows nothing of them any more.
func (h *Hosts) DisconnectHostTask(ctx *simulator.Context, req *types.DisconnectHost_Task) soap.HasFault {
	ref := h.task(ctx, req.This, "DisconnectHost", "disconnect", func(host *simulator.HostSystem, _ *simulator.Task) types.BaseMethodFault {
		if !h.turn(host.Self, func(c *condition) bool {
			was := c.disconnected
			c.disconnected = true
			return !was
		}) {
			return new(types.InvalidState)
		}
		reason := string(types.HostDisconnectedEventReasonCodeUserRequest)
		e := Event(ctx, host, "")
		e.FullFormattedMessage = "Disconnected from " + host.Name + " in " + placeOf(e) + ". Reason: User request"
		vc.Post(ctx, &types.HostDisconnectedEvent{HostEvent: e, Reason: reason})
		h.publish(host.Self, h.logHost(host, event.Warning, "host.disconnected", "disconnected by "+user(ctx)+"; its VMs run on"))
		return nil
	})
	return &methods.DisconnectHost_TaskBody{Res: &types.DisconnectHost_TaskResponse{Returnval: ref}}
}

// ReconnectHostTask lets the vCenter look at a host again that it was disconnected from.
func (h *Hosts) ReconnectHostTask(ctx *simulator.Context, req *types.ReconnectHost_Task) soap.HasFault {
	ref := h.task(ctx, req.This, "ReconnectHost", "reconnect", func(host *simulator.HostSystem, _ *simulator.Task) types.BaseMethodFault {
		var fault types.BaseMethodFault
		h.turn(host.Self, func(c *condition) bool {
			switch {
			case !c.disconnected:
				fault = new(types.InvalidState)
			case c.machine != running:
				fault = &types.NoHost{Name: host.Name}
			}
			if fault == nil {
				c.disconnected = false
			}
			return fault == nil
		})
		if fault != nil {
			if _, ok := fault.(*types.NoHost); ok {
				e := Event(ctx, host, "")
				e.FullFormattedMessage = "Cannot reconnect to " + host.Name + " in " + placeOf(e)
				vc.Post(ctx, &types.HostReconnectionFailedEvent{HostEvent: e})
			}
			return fault
		}
		h.connected(ctx, host, "connected again by "+user(ctx))
		return nil
	})
	return &methods.ReconnectHost_TaskBody{Res: &types.ReconnectHost_TaskResponse{Returnval: ref}}
}

// connected tells that the host can be seen again.
func (h *Hosts) connected(ctx *simulator.Context, host *simulator.HostSystem, message string) {
	h.publish(host.Self, h.logHost(host, event.Info, "host.connected", message))
	e := Event(ctx, host, "")
	e.FullFormattedMessage = "Connected to " + host.Name + " in " + placeOf(e)
	vc.Post(ctx, &types.HostConnectedEvent{HostEvent: e})
}

func user(ctx *simulator.Context) string {
	if ctx.Session == nil || ctx.Session.UserName == "" {
		return "a user"
	}
	return ctx.Session.UserName
}
