package host

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// Crash pulls the host's plug: its VMs die with it. The vCenter sees a host that does not respond, and VMs of which it
// knows the last power state only. It is an error when the host is down already.
func (h *Hosts) Crash(ctx context.Context, ref types.ManagedObjectReference) error {
	return h.lose(ctx, ref, crashed, "host.crashed", "crashed; its VMs died with it")
}

// Isolate takes the host's management network away: the vCenter does not see it any more, and its VMs run on. It is an
// error when the host is down or isolated already.
func (h *Hosts) Isolate(ctx context.Context, ref types.ManagedObjectReference) error {
	return h.lose(ctx, ref, isolated, "host.isolated", "lost its management network; its VMs run on")
}

func (h *Hosts) lose(ctx context.Context, ref vc.Ref, to machine, kind, message string) error {
	host, err := h.find(ctx, ref)
	if err != nil {
		return err
	}
	var seen bool // by the vCenter, so far
	if !h.turn(ref, func(c *condition) bool {
		seen = c.connection() == types.HostSystemConnectionStateConnected
		if !c.machine.runs() || c.machine == to {
			return false
		}
		c.machine, c.leaving, c.mode = to, false, ""
		return true
	}) {
		return fmt.Errorf("host %q: is not running", host.Name)
	}
	seq := h.logHost(host, event.Error, kind, message)
	h.publish(ref, seq)
	if seen {
		h.postLost(host)
	}
	h.tellDeath(ref, seq)
	return nil
}

// tellDeath tells of a host that is dead, and of what ran on it.
func (h *Hosts) tellDeath(ref vc.Ref, seq uint64) {
	host, ok := h.base.Map.Get(ref).(*simulator.HostSystem)
	if !ok || !h.Dead(ref) {
		return
	}
	h.mu.Lock()
	tell := h.deaths
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
		for _, f := range tell {
			f(ref, died)
		}
	}
	for _, f := range h.died {
		f(ref, seq)
	}
}

// postLost tells the vCenter's history that a host does not respond.
func (h *Hosts) postLost(host *simulator.HostSystem) {
	ctx := vc.Fresh(h.base)
	e := Event(ctx, host, "")
	e.FullFormattedMessage = "Host " + host.Name + " in " + placeOf(e) + " is not responding"
	vc.Post(ctx, &types.HostConnectionLostEvent{HostEvent: e})
}

// Recover brings a host back that crashed, lost its network, was shut down or is in standby. Where the host was down, the
// VMs that died with it are powered off; nothing but HA starts them again. It is an error when nothing is wrong with the
// host.
func (h *Hosts) Recover(ctx context.Context, ref types.ManagedObjectReference) error {
	host, err := h.find(ctx, ref)
	if err != nil {
		return err
	}
	if !h.rise(host, func(c condition) bool { return c.machine != running }) {
		return fmt.Errorf("host %q: nothing to recover from", host.Name)
	}
	return nil
}

// rise lets a host run again, if its condition is one that may to, and reports whether it did.
func (h *Hosts) rise(host *simulator.HostSystem, may func(condition) bool) bool {
	var was condition
	var seen bool
	// Nothing is powered on between the host's return and the end of what died on it.
	h.starting.Lock()
	if !h.turn(host.Self, func(c *condition) bool {
		if was = *c; !may(was) {
			return false
		}
		c.machine, c.mode = running, ""
		seen = c.connection() == types.HostSystemConnectionStateConnected
		return true
	}) {
		h.starting.Unlock()
		return false
	}
	message := "runs again"
	if was.machine == isolated {
		message = "can be reached again"
	} else {
		h.booted(host.Self)
	}
	ctx := vc.Fresh(h.base)
	if !was.machine.runs() {
		// Before anybody sees them as connected: they are not seen to run then.
		for _, vm := range vmsOf(ctx, host) {
			h.buryVM(host, vm)
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

// buryVM powers off a VM that died with its host, now that the host tells so.
func (h *Hosts) buryVM(host *simulator.HostSystem, ref vc.Ref) {
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

// find returns the host.
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
