package react

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// Room is counted in memory, in MB. A VM needs what is reserved for it, which is nothing unless somebody has set a
// reservation; with admission control it needs all of its memory: a coarse form of vSphere's slots.

// need is the memory that a host must have left for the VM.
func (h *ha) need(ctx *simulator.Context, ref vc.Ref) (mb int64) {
	vm, ok := ctx.Map.Get(ref).(*simulator.VirtualMachine)
	if !ok {
		return 0
	}
	ctx.WithLock(vm, func() {
		switch c := vm.Config; {
		case c == nil:
		case h.failures > 0:
			mb = int64(c.Hardware.MemoryMB)
		case c.MemoryAllocation != nil && c.MemoryAllocation.Reservation != nil:
			mb = *c.MemoryAllocation.Reservation
		}
	})
	return mb
}

// room tells which hosts have room for the VM, nil when it needs none. What they run is counted now, because it is asked
// with the VM locked.
func (h *ha) room(vm vc.Ref) func(vc.Ref) bool {
	ctx := vc.Fresh(h.base)
	need := h.need(ctx, vm)
	if need == 0 {
		return nil
	}
	fits := make(map[vc.Ref]bool)
	for _, e := range ctx.Map.All("HostSystem") {
		ref := e.Reference()
		used := int64(0)
		for _, other := range runningOn(ctx, ref) {
			used += h.need(ctx, other)
		}
		fits[ref] = used+need <= memory(ctx, ref)
	}
	return func(ref vc.Ref) bool { return fits[ref] }
}

// admit refuses a power-on after which the VMs of the cluster would not fit on what is left of it when the largest hosts
// fail.
func (h *ha) admit(vm types.ManagedObjectReference) types.BaseMethodFault {
	ctx := vc.Fresh(h.base)
	obj, ok := ctx.Map.Get(vm).(*simulator.VirtualMachine)
	if !ok {
		return nil
	}
	var on bool
	var at vc.Ref
	ctx.WithLock(obj, func() {
		on = obj.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn
		if obj.Runtime.Host != nil {
			at = *obj.Runtime.Host
		}
	})
	cluster, ok := h.cluster(ctx, at)
	if on || !ok || !controlled(ctx, cluster) {
		return nil
	}
	var hosts []vc.Ref
	ctx.WithLock(cluster, func() { hosts = slices.Clone(cluster.Host) })
	used := h.need(ctx, vm)
	var sizes []int64
	for _, ref := range hosts {
		for _, other := range runningOn(ctx, ref) {
			used += h.need(ctx, other)
		}
		if h.opts.Hosts.Usable(ref) {
			sizes = append(sizes, memory(ctx, ref))
		}
	}
	slices.Sort(sizes)
	left := int64(0)
	for _, size := range sizes[:max(0, len(sizes)-int(h.failures))] {
		left += size
	}
	if used > left {
		return new(types.InsufficientFailoverResourcesFault)
	}
	return nil
}

// controlled tells whether admission control is on in the cluster.
func controlled(ctx *simulator.Context, cluster *simulator.ClusterComputeResource) (yes bool) {
	ctx.WithLock(cluster, func() {
		config, ok := cluster.ConfigurationEx.(*types.ClusterConfigInfoEx)
		yes = ok && config.DasConfig.AdmissionControlEnabled != nil && *config.DasConfig.AdmissionControlEnabled
	})
	return yes
}

// memory is the size of a host in MB.
func memory(ctx *simulator.Context, ref vc.Ref) (mb int64) {
	host, ok := ctx.Map.Get(ref).(*simulator.HostSystem)
	if !ok {
		return 0
	}
	ctx.WithLock(host, func() {
		if hw := host.Summary.Hardware; hw != nil {
			mb = hw.MemorySize >> 20
		}
	})
	return mb
}

// runningOn lists the VMs of a host that are on, as far as the vCenter knows.
func runningOn(ctx *simulator.Context, ref vc.Ref) []vc.Ref {
	host, ok := ctx.Map.Get(ref).(*simulator.HostSystem)
	if !ok {
		return nil
	}
	var all, on []vc.Ref
	ctx.WithLock(host, func() { all = slices.Clone(host.Vm) })
	for _, r := range all {
		vm, ok := ctx.Map.Get(r).(*simulator.VirtualMachine)
		if !ok {
			continue
		}
		ctx.WithLock(vm, func() {
			if vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn {
				on = append(on, r)
			}
		})
	}
	return on
}
