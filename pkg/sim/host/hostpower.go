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

// ShutdownHostTask powers a host off: one in maintenance mode, or any by force, with the VMs that run on it.
func (h *Hosts) ShutdownHostTask(ctx *simulator.Context, req *types.ShutdownHost_Task) soap.HasFault {
	ref := h.task(ctx, req.This, "ShutdownHost", "shutdown", func(host *simulator.HostSystem, _ *simulator.Task) types.BaseMethodFault {
		return h.down(ctx, host, off, req.Force, "host.shutdown", "shut down by "+user(ctx))
	})
	return &methods.ShutdownHost_TaskBody{Res: &types.ShutdownHost_TaskResponse{Returnval: ref}}
}

// RebootHostTask takes a host down like [Hosts.ShutdownHostTask] and brings it back after Options.Boot. The task ends with
// the shutdown: the host is not responding then.
func (h *Hosts) RebootHostTask(ctx *simulator.Context, req *types.RebootHost_Task) soap.HasFault {
	ref := h.task(ctx, req.This, "RebootHost", "reboot", func(host *simulator.HostSystem, _ *simulator.Task) types.BaseMethodFault {
		if fault := h.down(ctx, host, booting, req.Force, "host.rebooting", "rebooted by "+user(ctx)); fault != nil {
			return fault
		}
		boots := h.of(host.Self).boots
		if h.begin() {
			go func() {
				defer h.work.Done()
				if h.sleep(h.opts.Boot) {
					h.rise(host, func(c condition) bool { return c.machine == booting && c.boots == boots })
				}
			}()
		}
		return nil
	})
	return &methods.RebootHost_TaskBody{Res: &types.RebootHost_TaskResponse{Returnval: ref}}
}

// down ends a host on request.
func (h *Hosts) down(ctx *simulator.Context, host *simulator.HostSystem, to machine, force bool, kind, message string) types.BaseMethodFault {
	var fault types.BaseMethodFault
	h.turn(host.Self, func(c *condition) bool {
		if fault = c.fault(); fault == nil && !force && !c.maintenance {
			fault = new(types.InvalidState)
		}
		if fault != nil {
			return false
		}
		c.machine, c.leaving, c.mode = to, false, ""
		return true
	})
	if fault != nil {
		return fault
	}
	e := Event(ctx, host, "")
	e.FullFormattedMessage = "Shut down of " + host.Name + " in " + placeOf(e) + ": " + message
	vc.Post(ctx, &types.HostShutdownEvent{HostEvent: e, Reason: message})
	seq := h.logHost(host, event.Warning, kind, message)
	h.publish(host.Self, seq)
	h.postLost(host)
	h.tellDeath(host.Self, seq)
	return nil
}

// sleep waits, and tells whether it was let.
func (h *Hosts) sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-h.stop:
		return false
	}
}
