package host

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// remaining lists the VMs that keep the host from being taken out of service: those that are on, and with all the others.
func (h *Hosts) remaining(host *simulator.HostSystem, all bool) []vc.Ref {
	var left []vc.Ref
	ctx := vc.Fresh(h.base)
	for _, ref := range vmsOf(ctx, host) {
		vm, ok := ctx.Map.Get(ref).(*simulator.VirtualMachine)
		if !ok {
			continue
		}
		ctx.WithLock(vm, func() {
			if all || vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn {
				left = append(left, ref)
			}
		})
	}
	return left
}

// evacuate moves away what DRS can move, and returns how many VMs are left. It says of each VM once that there is no other
// place for it.
func (h *Hosts) evacuate(ctx *simulator.Context, host *simulator.HostSystem, all bool, cause uint64, refused map[vc.Ref]bool) int {
	left := h.remaining(host, all)
	cluster, ok := ctx.Map.Get(*host.Parent).(*simulator.ClusterComputeResource)
	if !ok {
		return len(left)
	}
	stay := 0
	for _, ref := range left {
		if !Automated(ctx, cluster, ref) {
			stay++
			continue
		}
		if _, err := h.Migrate(ref, host.Self, cause, nil); err == nil {
			continue
		}
		stay++
		if vm, ok := ctx.Map.Get(ref).(*simulator.VirtualMachine); ok && !refused[ref] {
			refused[ref] = true
			one := vc.Fresh(ctx)
			one.WithLock(vm, func() {
				vc.Post(one, &types.NoMaintenanceModeDrsRecommendationForVM{VmEvent: vmEvent(one, vm,
					"Unable to automatically migrate %s from %s", vm.Name, host.Name)})
			})
		}
	}
	return stay
}

// Automated tells whether DRS moves the VM by itself: it is enabled in the cluster and for the VM, and fully automated.
func Automated(ctx *simulator.Context, cluster *simulator.ClusterComputeResource, vm types.ManagedObjectReference) (yes bool) {
	automatic := func(b types.DrsBehavior) bool { return b == "" || b == types.DrsBehaviorFullyAutomated }
	ctx.WithLock(cluster, func() {
		config, ok := cluster.ConfigurationEx.(*types.ClusterConfigInfoEx)
		if !ok || config.DrsConfig.Enabled == nil || !*config.DrsConfig.Enabled {
			return
		}
		yes = automatic(config.DrsConfig.DefaultVmBehavior)
		for _, o := range config.DrsVmConfig {
			if o.Key == vm {
				yes = (o.Enabled == nil || *o.Enabled) && (o.Behavior == "" && yes || o.Behavior == types.DrsBehaviorFullyAutomated)
			}
		}
	})
	return yes
}
