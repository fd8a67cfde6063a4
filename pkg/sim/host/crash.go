package host

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

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
	e := Event(ctx, host, "")
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
		vc.Post(ctx, &types.VmPoweredOffEvent{VmEvent: vmEvent(ctx, vm, "%s on %s is powered off", vm.Name, host.Name)})
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
