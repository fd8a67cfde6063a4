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
		e := vc.HostEvent(ctx, host, "")
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
				e := vc.HostEvent(ctx, host, "")
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
	e := vc.HostEvent(ctx, host, "")
	e.FullFormattedMessage = "Connected to " + host.Name + " in " + placeOf(e)
	vc.Post(ctx, &types.HostConnectedEvent{HostEvent: e})
}

func user(ctx *simulator.Context) string {
	if ctx.Session == nil || ctx.Session.UserName == "" {
		return "a user"
	}
	return ctx.Session.UserName
}

// Hide shows a VM of a healthy host in a connection state; a problem of the host takes precedence. The VM continues to run. Calls
// that need it fail with InvalidState.
func (h *Hosts) Hide(ctx context.Context, ref types.ManagedObjectReference, state types.VirtualMachineConnectionState) error {
	return h.hide(ctx, ref, state)
}

// Show ends [Hosts.Hide]; it does nothing for other VMs.
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

// Crash powers the host off abruptly: its VMs die with it. The vCenter sees a host that does not respond, and the last known
// power states of its VMs. It returns an error if the host is down already.
func (h *Hosts) Crash(ctx context.Context, ref types.ManagedObjectReference) error {
	return h.lose(ctx, ref, crashed, "host.crashed", "crashed; its VMs died with it")
}

// Isolate disconnects the host's management network: the vCenter loses it, and its VMs continue to run. It returns an error if
// the host is down or isolated already.
func (h *Hosts) Isolate(ctx context.Context, ref types.ManagedObjectReference) error {
	return h.lose(ctx, ref, isolated, "host.isolated", "lost its management network; its VMs run on")
}

func (h *Hosts) lose(ctx context.Context, ref vc.Ref, to state, kind, message string) error {
	host, err := h.find(ctx, ref)
	if err != nil {
		return err
	}
	var seen bool // by the vCenter, until now
	if !h.turn(ref, func(c *condition) bool {
		seen = c.connection() == types.HostSystemConnectionStateConnected
		if !c.state.runs() || c.state == to {
			return false
		}
		c.state, c.leaving, c.mode = to, false, ""
		return true
	}) {
		return fmt.Errorf("host %q: is not running", host.Name)
	}
	seq := h.logHost(host, event.Error, kind, message)
	h.publish(ref, seq)
	if seen {
		h.postLost(host)
	}
	h.logDeath(ref, seq)
	return nil
}

// logDeath reports a dead host and its VMs.
func (h *Hosts) logDeath(ref vc.Ref, seq uint64) {
	host, ok := h.base.Map.Get(ref).(*simulator.HostSystem)
	if !ok || !h.Dead(ref) {
		return
	}
	h.mu.Lock()
	report := h.deaths
	h.mu.Unlock()
	ctx := vc.Fresh(h.base)
	for _, ref := range h.remaining(host, false) {
		vm, ok := ctx.Map.Get(ref).(*simulator.VirtualMachine)
		if !ok {
			continue
		}
		var died uint64
		ctx.WithLock(vm, func() {
			died = h.log(event.Object{Kind: "VM", Name: vm.Name}, ref, event.Error, "vm.died", seq, "died with host "+host.Name+"; vCenter knows its last power state only")
		})
		for _, f := range report {
			f(ref, died)
		}
	}
	for _, f := range h.died {
		f(ref, seq)
	}
}

// postLost adds the event of an unresponsive host to the vCenter's history.
func (h *Hosts) postLost(host *simulator.HostSystem) {
	ctx := vc.Fresh(h.base)
	e := vc.HostEvent(ctx, host, "")
	e.FullFormattedMessage = "Host " + host.Name + " in " + placeOf(e) + " is not responding"
	vc.Post(ctx, &types.HostConnectionLostEvent{HostEvent: e})
}

// Recover restores a host that crashed, lost its network, was shut down or is in standby. It powers off the VMs that died with
// the host; only HA starts them again. It returns an error if the host is healthy.
func (h *Hosts) Recover(ctx context.Context, ref types.ManagedObjectReference) error {
	host, err := h.find(ctx, ref)
	if err != nil {
		return err
	}
	if !h.rise(host, func(c condition) bool { return c.state != running }) {
		return fmt.Errorf("host %q: nothing to recover from", host.Name)
	}
	return nil
}

// rise starts a host if may allows it, and reports whether it did.
func (h *Hosts) rise(host *simulator.HostSystem, may func(condition) bool) bool {
	var was condition
	var seen bool
	// No VM is powered on between the host's return and the end of its dead VMs.
	h.starting.Lock()
	if !h.turn(host.Self, func(c *condition) bool {
		if was = *c; !may(was) {
			return false
		}
		c.state, c.mode = running, ""
		seen = c.connection() == types.HostSystemConnectionStateConnected
		return true
	}) {
		h.starting.Unlock()
		return false
	}
	message := "runs again"
	if was.state == isolated {
		message = "can be reached again"
	} else {
		h.booted(host.Self)
	}
	ctx := vc.Fresh(h.base)
	if !was.state.runs() {
		// Before clients see them connected, so that they are never seen running.
		for _, vm := range vmsOf(ctx, host) {
			h.powerOffDead(host, vm)
		}
	}
	if seen {
		h.connected(ctx, host, message)
	} else {
		h.publish(host.Self, h.logHost(host, event.Info, "host.back", message+"; vCenter is disconnected from it"))
	}
	h.starting.Unlock()
	return true
}

// powerOffDead powers off a VM that died with its host, once the host reports it.
func (h *Hosts) powerOffDead(host *simulator.HostSystem, ref vc.Ref) {
	ctx := vc.Fresh(h.base)
	vm, ok := ctx.Map.Get(ref).(*simulator.VirtualMachine)
	if !ok {
		return
	}
	h.mu.Lock()
	cause := h.causes[host.Self]
	h.mu.Unlock()
	defer h.causing(ref, cause)()
	ctx.WithLock(vm, func() {
		if vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn || vm.Runtime.Host == nil || *vm.Runtime.Host != host.Self {
			return
		}
		powered(ctx, vm, types.VirtualMachinePowerStatePoweredOff)
		vc.Post(ctx, &types.VmPoweredOffEvent{VmEvent: vc.VMEvent(ctx, vm, "%s on %s is powered off", vm.Name, host.Name)})
	})
}

// powered changes the power state of a VM whose lock is held.
func powered(ctx *simulator.Context, vm *simulator.VirtualMachine, to types.VirtualMachinePowerState) {
	ctx.Update(vm, []types.PropertyChange{vc.P("runtime.powerState", to), vc.P("summary.runtime.powerState", to)})
}

func (h *Hosts) find(ctx context.Context, ref vc.Ref) (*simulator.HostSystem, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	host, ok := h.base.Map.Get(ref).(*simulator.HostSystem)
	if !ok {
		return nil, fmt.Errorf("host %s: no such host", ref.Value)
	}
	own := vc.Fresh(h.base)
	own.WithLock(host, func() { h.adopt(host) })
	return host, nil
}
