package react

import (
	"errors"
	"slices"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/host"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// ha restarts the VMs of lost hosts. All but newHA, protected and admit runs on the loop.
type ha struct {
	*Reactions
	detect, restart time.Duration
	failures        int32 // reserved by admission control; 0: off

	deaths map[vc.Ref]uint64 // deaths counts the failures of hosts, to detect an outdated one.
	lost   []lostVM          // waiting for a restart
}

// lostVM is a VM that died with its host.
type lostVM struct {
	ref, from vc.Ref
	cause     uint64 // the event that caused it
	reported  bool   // that it cannot be restarted was reported
}

func newHA(r *Reactions) *ha {
	on := r.opts.Reactions.HA
	h := &ha{
		Reactions: r,
		detect:    r.orElse(on.Detect, DefaultDetect),
		restart:   r.orElse(on.Restart, DefaultRestart),
		failures:  on.HostFailures,
		deaths:    make(map[vc.Ref]uint64),
	}
	if h.failures > 0 {
		r.opts.Hosts.Admit(h.admit)
	}
	r.opts.Hosts.Died(func(ref types.ManagedObjectReference, seq uint64) {
		vms := h.protected(ref)
		r.loop.soon(func() { h.died(ref, vms, seq) })
	})
	return h
}

// died records the VMs of a failed host, which HA detects after a delay.
func (h *ha) died(ref vc.Ref, vms []vc.Ref, seq uint64) {
	if h.opts.Hosts.Disconnected(ref) {
		return // HA does not cover it
	}
	h.deaths[ref]++
	death := h.deaths[ref]
	h.loop.after(h.detect, func() { h.declare(ref, death, vms, seq) })
}

// protected returns the VMs that HA would restart: running ones, in a cluster with HA, unless disabled for the VM.
func (h *ha) protected(ref vc.Ref) []vc.Ref {
	ctx := vc.Fresh(h.base)
	cluster, ok := h.cluster(ctx, ref)
	if !ok {
		return nil
	}
	var list []vc.Ref
	for _, vm := range runningOn(ctx, ref) {
		if enabled(ctx, cluster, vm) {
			list = append(list, vm)
		}
	}
	return list
}

// declare declares a host failed, and schedules the restart of its VMs: even if it is back, because they do not run there any
// more.
func (h *ha) declare(ref vc.Ref, death uint64, vms []vc.Ref, cause uint64) {
	ctx := vc.Fresh(h.base)
	obj, ok := ctx.Map.Get(ref).(*simulator.HostSystem)
	if !ok {
		return
	}
	if _, ok := h.cluster(ctx, ref); !ok {
		return
	}
	if h.deaths[ref] == death && h.opts.Hosts.Dead(ref) {
		e := vc.HostEvent(ctx, obj, "vSphere HA detected a host failure of %s", obj.Name)
		vc.Post(ctx, &types.EventEx{
			Event: e.Event, EventTypeId: "com.vmware.vc.HA.DasHostFailedEvent", Severity: string(types.EventEventSeverityError),
			Message: e.FullFormattedMessage, ObjectId: ref.Value, ObjectType: ref.Type, ObjectName: obj.Name,
		})
		cause = h.log(event.Object{Kind: "Host", Name: obj.Name}, event.Error, "ha.host-failed", cause, "HA gave it up")
	}
	h.loop.after(h.restart, func() {
		for _, vm := range vms {
			h.drop(vm)
			h.lost = append(h.lost, lostVM{ref: vm, from: ref, cause: cause})
		}
		h.retry()
	})
}

// retry tries to restart every waiting VM.
func (h *ha) retry() {
	waiting := h.lost
	h.lost = nil
	for _, vm := range waiting {
		to, moved, err := h.opts.Hosts.Restart(vm.ref, vm.from, vm.cause, h.room(vm.ref))
		switch {
		case errors.Is(err, host.ErrNoHost):
			h.fail(&vm)
			h.lost = append(h.lost, vm)
			continue
		case err != nil || to == (vc.Ref{}):
			continue // removed, or powered on by another client
		}
		message := "HA restarted it"
		if target, ok := h.base.Map.Get(to).(*simulator.HostSystem); ok {
			message += " on host " + target.Name
		}
		if !moved {
			message += ", its own, which is back"
		}
		h.log(event.Object{Kind: "VM", Name: h.name(vm.ref)}, event.Info, "ha.restarted", vm.cause, message)
	}
}

func (h *ha) drop(vm vc.Ref) {
	h.lost = slices.DeleteFunc(h.lost, func(l lostVM) bool { return l.ref == vm })
}

// fail reports once that a VM cannot be restarted. It is retried after changes of hosts or room.
func (h *ha) fail(lost *lostVM) {
	vm, ok := h.base.Map.Get(lost.ref).(*simulator.VirtualMachine)
	if !ok || lost.reported {
		return
	}
	lost.reported = true
	ctx := vc.Fresh(h.base)
	var e types.VmEvent
	if obj, ok := ctx.Map.Get(lost.from).(*simulator.HostSystem); ok {
		e.Event = vc.HostEvent(ctx, obj, "vSphere HA unsuccessfully failed over %s. vSphere HA will retry when a host can take it.", vm.Name).Event
	}
	e.Vm = &types.VmEventArgument{EntityEventArgument: vc.Named(vm.Name), Vm: lost.ref}
	vc.Post(ctx, &types.VmFailoverFailed{VmEvent: e, Reason: &types.LocalizedMethodFault{
		Fault: new(types.NoCompatibleHost), LocalizedMessage: "No host is compatible with the virtual machine.",
	}})
	h.log(event.Object{Kind: "VM", Name: vm.Name}, event.Error, "ha.restart-failed", lost.cause, "HA found no host that can take it")
}

// cluster returns the cluster of a host, if it has HA.
func (h *ha) cluster(ctx *simulator.Context, ref vc.Ref) (*simulator.ClusterComputeResource, bool) {
	obj, ok := ctx.Map.Get(ref).(*simulator.HostSystem)
	if !ok || obj.Parent == nil {
		return nil, false
	}
	cluster, ok := ctx.Map.Get(*obj.Parent).(*simulator.ClusterComputeResource)
	if !ok {
		return nil, false
	}
	on := false
	ctx.WithLock(cluster, func() {
		config, ok := cluster.ConfigurationEx.(*types.ClusterConfigInfoEx)
		on = ok && config.DasConfig.Enabled != nil && *config.DasConfig.Enabled
	})
	return cluster, on
}

// enabled reports whether HA restarts the VM.
func enabled(ctx *simulator.Context, cluster *simulator.ClusterComputeResource, vm vc.Ref) (yes bool) {
	yes = true
	ctx.WithLock(cluster, func() {
		config, ok := cluster.ConfigurationEx.(*types.ClusterConfigInfoEx)
		if !ok {
			return
		}
		for _, o := range config.DasVmConfig {
			if o.Key == vm && o.DasSettings != nil && o.DasSettings.RestartPriority == string(types.ClusterDasVmSettingsRestartPriorityDisabled) {
				yes = false
			}
		}
	})
	return yes
}

func (h *ha) name(ref vc.Ref) string {
	if vm, ok := h.base.Map.Get(ref).(*simulator.VirtualMachine); ok {
		return vm.Name
	}
	return ref.Value
}
