package host

import (
	"context"
	"fmt"

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

// Orphan makes the VM unknown to its host, as when somebody deletes it there behind the vCenter's back. Only
// UnregisterVM works on it, then.
func (h *Hosts) Orphan(ctx context.Context, ref types.ManagedObjectReference) error {
	return h.Hide(ctx, ref, types.VirtualMachineConnectionStateOrphaned)
}

// Hide shows the VM in a connection state while nothing is wrong with its host; what is wrong with that shows before it.
// The VM runs on. Calls that need it are refused as InvalidState.
func (h *Hosts) Hide(ctx context.Context, ref types.ManagedObjectReference, state types.VirtualMachineConnectionState) error {
	return h.hide(ctx, ref, state)
}

// Show ends [Hosts.Hide] and [Hosts.Orphan]; for a VM that is not hidden it does nothing.
func (h *Hosts) Show(ctx context.Context, ref types.ManagedObjectReference) error {
	return h.hide(ctx, ref, "")
}

func (h *Hosts) hide(ctx context.Context, ref vc.Ref, state types.VirtualMachineConnectionState) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, ok := h.base.Map.Get(ref).(*simulator.VirtualMachine); !ok {
		return fmt.Errorf("VM %s: no such VM", ref.Value)
	}
	h.mu.Lock()
	if state == "" {
		delete(h.hidden, ref)
	} else {
		h.hidden[ref] = state
	}
	h.mu.Unlock()
	h.settle(ref, 0)
	return nil
}

// machine is what a host really does, whether or not its vCenter can see it.
type machine int

const (
	running  machine = iota
	isolated         // runs, and cannot be reached
	crashed
	off     // shut down by a call
	booting // on its way back from a reboot
	standby
)

// runs reports whether VMs on the host run.
func (m machine) runs() bool { return m == running || m == isolated }

// condition is what is known of a host beside vcsim's properties. The zero value is a host in order.
type condition struct {
	machine machine
	// disconnected is what the user asked for.
	disconnected bool
	// leaving tells that VMs are to leave it, for maintenance mode or standby.
	leaving bool
	// maintenance is maintenance mode, reached.
	maintenance bool
	// mode is the standby mode; empty is none.
	mode types.HostStandbyMode
	// boots counts changes of machine, so that the end of a boot is known to be stale.
	boots uint64
}

// usable reports whether VMs can be started on the host.
func (c condition) usable() bool {
	return c.machine == running && !c.disconnected && !c.leaving && !c.maintenance
}

func (c condition) connection() types.HostSystemConnectionState {
	switch {
	case c.disconnected:
		return types.HostSystemConnectionStateDisconnected
	case c.machine == running:
		return types.HostSystemConnectionStateConnected
	}
	return types.HostSystemConnectionStateNotResponding
}

func (c condition) power() types.HostSystemPowerState {
	switch {
	case c.machine == running && !c.disconnected:
		return types.HostSystemPowerStatePoweredOn
	case c.machine == off:
		return types.HostSystemPowerStatePoweredOff
	case c.machine == standby:
		return types.HostSystemPowerStateStandBy
	}
	return types.HostSystemPowerStateUnknown
}

// status is the color of the host: vCenter's own alarm on hosts turns it red when one does not respond that should.
func (c condition) status() types.ManagedEntityStatus {
	switch {
	case c.disconnected, c.machine == standby:
		return types.ManagedEntityStatusGray
	case c.machine == running:
		return types.ManagedEntityStatusGreen
	}
	return types.ManagedEntityStatusRed
}

// fault says why a call that needs the host cannot be made, nil when it can.
func (c condition) fault() types.BaseMethodFault {
	switch c.connection() {
	case types.HostSystemConnectionStateDisconnected:
		return new(types.HostNotConnected)
	case types.HostSystemConnectionStateNotResponding:
		return new(types.HostNotReachable)
	default:
		return nil
	}
}

// of returns the host's condition now.
func (h *Hosts) of(ref vc.Ref) condition {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.hosts[ref]; c != nil {
		return *c
	}
	return condition{}
}

// turn changes the host's condition, if change agrees to, and reports whether it did. Nobody sees it before publish.
func (h *Hosts) turn(ref vc.Ref, change func(*condition) bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	next := condition{}
	if c := h.hosts[ref]; c != nil {
		next = *c
	}
	was := next.machine
	if !change(&next) {
		return false
	}
	if next.machine != was {
		next.boots++
	}
	h.hosts[ref] = &next
	return true
}

// Usable reports whether VMs can be started on the host now: it is connected, on, not in maintenance mode and not on its
// way there.
func (h *Hosts) Usable(ref types.ManagedObjectReference) bool { return h.of(ref).usable() }

// Disconnected reports whether a user has disconnected the vCenter from the host.
func (h *Hosts) Disconnected(ref types.ManagedObjectReference) bool { return h.of(ref).disconnected }

// Dead reports whether the host's VMs have died with it: it crashed, or was shut down or rebooted by force, and has not come
// back. Of a host that only lost its network this is false, as HA finds out through the datastores.
func (h *Hosts) Dead(ref types.ManagedObjectReference) bool { return !h.of(ref).machine.runs() }
