package react

import (
	"fmt"
	"slices"
	"time"

	"github.com/vmware/govmomi/simulator"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/host"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// drs spreads VMs by number: a VM here uses no resources by which one could do better. All but newDRS runs on the loop.
type drs struct {
	*Reactions
	period time.Duration
}

func newDRS(r *Reactions) *drs {
	d := &drs{Reactions: r, period: r.orElse(r.opts.Reactions.DRS.Period, DefaultPeriod)}
	r.loop.after(d.period, d.look)
	return d
}

// look spreads every cluster, and does so again a period later.
func (d *drs) look() {
	defer d.loop.after(d.period, d.look)
	for _, e := range d.base.Map.All("ClusterComputeResource") {
		d.spread(e.(*simulator.ClusterComputeResource))
	}
}

// spread moves VMs from the fullest hosts to the emptiest ones until they differ by one at most, or nothing can be moved.
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
			if !host.Automated(ctx, cluster, vm) {
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

// extremes returns the host with the most VMs, with those, and the one with the fewest; of equal ones the first.
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
