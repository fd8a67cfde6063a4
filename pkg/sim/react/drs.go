package react

import (
	"fmt"
	"slices"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/host"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// drs moves VMs to where their VM-host rules want them, and spreads them by number: simulated VMs use no resources to measure. All but newDRS runs on the loop.
type drs struct {
	*Reactions
	period time.Duration
}

func newDRS(r *Reactions) *drs {
	d := &drs{Reactions: r, period: r.orElse(r.opts.Reactions.DRS.Period, DefaultPeriod)}
	r.loop.after(d.period, d.look)
	return d
}

// look spreads every cluster, and schedules the next run.
func (d *drs) look() {
	defer d.loop.after(d.period, d.look)
	for _, e := range d.base.Map.All("ClusterComputeResource") {
		d.spread(e.(*simulator.ClusterComputeResource))
	}
}

// spread moves VMs from the fullest hosts to the emptiest ones until they differ by at most one, or no VM can be moved.
func (d *drs) spread(cluster *simulator.ClusterComputeResource) {
	ctx := vc.Fresh(d.base)
	var hosts []vc.Ref
	var name string
	ctx.WithLock(cluster, func() { hosts, name = slices.Clone(cluster.Host), cluster.Name })
	on := make(map[vc.Ref][]vc.Ref)
	total := 0
	for _, ref := range hosts {
		if d.opts.Hosts.Usable(ref) {
			on[ref] = runningOn(ctx, ref)
			total += len(on[ref])
		}
	}
	hosts = slices.DeleteFunc(hosts, func(ref vc.Ref) bool { _, ok := on[ref]; return !ok })
	d.obey(ctx, cluster, name, hosts, on)
	cause := uint64(0)
	for range total {
		from, to, vms := extremes(hosts, on)
		if len(on[from])-len(on[to]) < 2 {
			return
		}
		if cause == 0 {
			cause = d.log(event.Object{Kind: "Cluster", Name: name}, event.Info, "drs.spreading", 0,
				fmt.Sprintf("DRS spreads VMs: hosts run between %d and %d", len(on[to]), len(on[from])))
		}
		i := slices.IndexFunc(vms, func(vm vc.Ref) bool {
			if !host.Automated(ctx, cluster, vm) || !host.RulesOf(ctx, cluster, vm).Fits(to) {
				return false
			}
			_, err := d.opts.Hosts.Migrate(vm, from, cause, func(ref vc.Ref) bool { return ref == to })
			return err == nil
		})
		if i < 0 {
			return
		}
		on[to] = append(on[to], vms[i])
		on[from] = slices.Delete(slices.Clone(vms), i, i+1)
	}
}

// obey moves VMs that run where a VM-host rule does not want them to a host where it does, if there is one.
func (d *drs) obey(ctx *simulator.Context, cluster *simulator.ClusterComputeResource, name string, hosts []vc.Ref, on map[vc.Ref][]vc.Ref) {
	for _, from := range hosts {
		for _, vm := range slices.Clone(on[from]) {
			rules := host.RulesOf(ctx, cluster, vm)
			if rules.Fits(from) || !slices.ContainsFunc(hosts, rules.Fits) || !host.Automated(ctx, cluster, vm) {
				continue
			}
			cause := d.log(event.Object{Kind: "Cluster", Name: name}, event.Info, "drs.rule", 0, "DRS moves a VM to where its rules want it")
			to, err := d.opts.Hosts.Migrate(vm, from, cause, rules.Fits)
			if err != nil {
				continue
			}
			on[from] = vc.Without(on[from], vm)
			on[to] = append(on[to], vm)
		}
	}
}

// extremes returns the host with the most VMs, those VMs, and the host with the fewest; of equal ones the first.
func extremes(hosts []vc.Ref, on map[vc.Ref][]vc.Ref) (fullest, emptiest vc.Ref, vms []vc.Ref) {
	for i, ref := range hosts {
		if i == 0 || len(on[ref]) > len(on[fullest]) {
			fullest = ref
		}
		if i == 0 || len(on[ref]) < len(on[emptiest]) {
			emptiest = ref
		}
	}
	return fullest, emptiest, on[fullest]
}

// dhcp changes addresses of guests at the end of a lease. All but newDHCP and addressed runs on the loop.
type dhcp struct {
	*Reactions
	lease time.Duration
	// current numbers the lease of each guest, to detect the end of an outdated one.
	current map[vc.Ref]uint64
	number  uint64
}

func newDHCP(r *Reactions) *dhcp {
	d := &dhcp{Reactions: r, lease: r.orElse(r.opts.Reactions.DHCP.Lease, DefaultLease), current: make(map[vc.Ref]uint64)}
	for _, e := range r.base.Map.All("VirtualMachine") {
		vm := e.(*simulator.VirtualMachine)
		vc.Fresh(r.base).WithLock(vm, func() {
			if vm.Guest != nil && vm.Guest.IpAddress != "" {
				d.addressed(vm.Self, true)
			}
		})
	}
	return d
}

// addressed records whether a guest has an address.
func (d *dhcp) addressed(vm vc.Ref, has bool) {
	d.loop.soon(func() {
		if has {
			d.begin(vm)
		} else {
			d.forget(vm)
		}
	})
}

func (d *dhcp) begin(vm vc.Ref) {
	d.number++
	number := d.number
	d.current[vm] = number
	d.loop.after(d.lease, func() {
		if d.current[vm] != number {
			return
		}
		if !d.opts.Renew(vm) {
			d.begin(vm) // it has kept its address: static, or the network is full
		}
	})
}

func (d *dhcp) forget(vm vc.Ref) { delete(d.current, vm) }

// Room is counted in memory, in MB. A VM needs its reservation, which is 0 by default; with admission control it needs all of its
// memory, a simple form of vSphere's slots.

// need returns the memory that a host must have free for the VM.
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

// room returns a func that reports which hosts have room for the VM, or nil if it needs none. It counts used memory now, because
// the func is called with the VM locked.
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

// admit refuses a power-on after which the cluster could not run all VMs without its largest hosts.
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

// controlled reports whether the cluster has admission control.
func controlled(ctx *simulator.Context, cluster *simulator.ClusterComputeResource) (yes bool) {
	ctx.WithLock(cluster, func() {
		config, ok := cluster.ConfigurationEx.(*types.ClusterConfigInfoEx)
		yes = ok && config.DasConfig.AdmissionControlEnabled != nil && *config.DasConfig.AdmissionControlEnabled
	})
	return yes
}

// memory returns the size of a host in MB.
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

// runningOn returns the running VMs of a host, as the vCenter sees them.
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
