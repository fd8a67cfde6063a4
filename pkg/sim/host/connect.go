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

// DisconnectHostTask disconnects the vCenter from a host. Its VMs continue to run, without updates.
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

// ReconnectHostTask connects the vCenter to a disconnected host again.
func (h *Hosts) ReconnectHostTask(ctx *simulator.Context, req *types.ReconnectHost_Task) soap.HasFault {
	ref := h.task(ctx, req.This, "ReconnectHost", "reconnect", func(host *simulator.HostSystem, _ *simulator.Task) types.BaseMethodFault {
		var fault types.BaseMethodFault
		h.turn(host.Self, func(c *condition) bool {
			switch {
			case !c.disconnected:
				fault = new(types.InvalidState)
			case c.state != running:
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

// connected reports that the host is reachable again.
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

// Orphan makes the VM unknown to its host, as when a user deletes it there without vCenter. Only UnregisterVM works on it
// afterward.
func (h *Hosts) Orphan(ctx context.Context, ref types.ManagedObjectReference) error {
	return h.Hide(ctx, ref, types.VirtualMachineConnectionStateOrphaned)
}

// Hide shows a VM of a healthy host in a connection state; a problem of the host takes precedence. The VM continues to run. Calls
// that need it fail with InvalidState.
func (h *Hosts) Hide(ctx context.Context, ref types.ManagedObjectReference, state types.VirtualMachineConnectionState) error {
	return h.hide(ctx, ref, state)
}

// Show ends [Hosts.Hide] and [Hosts.Orphan]; it does nothing for other VMs.
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

// state is the real state of a host, whether or not its vCenter sees it.
type state int

const (
	running  state = iota
	isolated       // runs, but is unreachable
	crashed
	off     // shut down by a call
	booting // rebooting
	standby
)

// runs reports whether VMs on the host run.
func (m state) runs() bool { return m == running || m == isolated }

// condition is the state of a host beyond vcsim's properties. The zero value is a healthy host.
type condition struct {
	state state
	// disconnected: a user disconnected it.
	disconnected bool
	// leaving: VMs must leave it, for maintenance mode or standby.
	leaving bool
	// maintenance: it is in maintenance mode.
	maintenance bool
	// mode is the standby mode; empty: none.
	mode types.HostStandbyMode
	// boots counts changes of state, to detect the end of an outdated boot.
	boots uint64
}

// usable reports whether VMs can be started on the host.
func (c condition) usable() bool {
	return c.state == running && !c.disconnected && !c.leaving && !c.maintenance
}

func (c condition) connection() types.HostSystemConnectionState {
	switch {
	case c.disconnected:
		return types.HostSystemConnectionStateDisconnected
	case c.state == running:
		return types.HostSystemConnectionStateConnected
	}
	return types.HostSystemConnectionStateNotResponding
}

func (c condition) power() types.HostSystemPowerState {
	switch {
	case c.state == running && !c.disconnected:
		return types.HostSystemPowerStatePoweredOn
	case c.state == off:
		return types.HostSystemPowerStatePoweredOff
	case c.state == standby:
		return types.HostSystemPowerStateStandBy
	}
	return types.HostSystemPowerStateUnknown
}

// status returns the color of the host: vCenter's default alarm turns a host red that does not respond.
func (c condition) status() types.ManagedEntityStatus {
	switch {
	case c.disconnected, c.state == standby:
		return types.ManagedEntityStatusGray
	case c.state == running:
		return types.ManagedEntityStatusGreen
	}
	return types.ManagedEntityStatusRed
}

// fault returns the reason why a call that needs the host is impossible, or nil.
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

// condition returns the current condition of the host.
func (h *Hosts) condition(ref vc.Ref) condition {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.hosts[ref]; c != nil {
		return *c
	}
	return condition{}
}

// turn changes the host's condition if change agrees, and reports whether it did. Clients see it after publish.
func (h *Hosts) turn(ref vc.Ref, change func(*condition) bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	next := condition{}
	if c := h.hosts[ref]; c != nil {
		next = *c
	}
	was := next.state
	if !change(&next) {
		return false
	}
	if next.state != was {
		next.boots++
	}
	h.hosts[ref] = &next
	return true
}

// Usable reports whether VMs can be started on the host: it is connected, on, and neither in maintenance mode nor entering it.
func (h *Hosts) Usable(ref types.ManagedObjectReference) bool { return h.condition(ref).usable() }

// Disconnected reports whether a user has disconnected the vCenter from the host.
func (h *Hosts) Disconnected(ref types.ManagedObjectReference) bool {
	return h.condition(ref).disconnected
}

// Dead reports whether the host's VMs died with it: it crashed, or was shut down or rebooted by force, and has not returned. It
// is false for a host that only lost its network, which HA detects through the datastores.
func (h *Hosts) Dead(ref types.ManagedObjectReference) bool { return !h.condition(ref).state.runs() }
