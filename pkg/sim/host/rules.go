package host

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// Rules are the VM-host rules of a compute cluster that are about one VM.
type Rules struct {
	must, should []hostRule
}

// hostRule keeps a VM on the hosts of a group, or off them.
type hostRule struct {
	hosts []types.ManagedObjectReference
	off   bool
}

func (r hostRule) allows(host types.ManagedObjectReference) bool {
	return slices.Contains(r.hosts, host) != r.off
}

// Allows reports whether the mandatory rules let the VM run on a host: HA and DRS never put it on another.
func (r Rules) Allows(host types.ManagedObjectReference) bool {
	return !slices.ContainsFunc(r.must, func(rule hostRule) bool { return !rule.allows(host) })
}

// Fits reports whether all rules, mandatory ones and others, let the VM run on a host: DRS moves it there if it can.
func (r Rules) Fits(host types.ManagedObjectReference) bool {
	return r.Allows(host) && !slices.ContainsFunc(r.should, func(rule hostRule) bool { return !rule.allows(host) })
}

// RulesOf returns the rules of a VM. Rules that are disabled, or whose groups do not exist, do not count.
func RulesOf(ctx *simulator.Context, cluster *simulator.ClusterComputeResource, vm types.ManagedObjectReference) (r Rules) {
	ctx.WithLock(cluster, func() {
		config, ok := cluster.ConfigurationEx.(*types.ClusterConfigInfoEx)
		if !ok {
			return
		}
		hosts, member := map[string][]types.ManagedObjectReference{}, map[string]bool{}
		for _, g := range config.Group {
			switch g := g.(type) {
			case *types.ClusterHostGroup:
				hosts[g.Name] = slices.Clone(g.Host)
			case *types.ClusterVmGroup:
				member[g.Name] = slices.Contains(g.Vm, vm)
			}
		}
		for _, info := range config.Rule {
			rule, ok := info.(*types.ClusterVmHostRuleInfo)
			if !ok || !member[rule.VmGroupName] || rule.Enabled == nil || !*rule.Enabled {
				continue
			}
			list := &r.should
			if rule.Mandatory != nil && *rule.Mandatory {
				list = &r.must
			}
			if on, ok := hosts[rule.AffineHostGroupName]; ok {
				*list = append(*list, hostRule{hosts: on})
			}
			if off, ok := hosts[rule.AntiAffineHostGroupName]; ok {
				*list = append(*list, hostRule{hosts: off, off: true})
			}
		}
	})
	return r
}

// rules returns the rules of a VM in a compute resource; a standalone host has none.
func rules(ctx *simulator.Context, compute, vm types.ManagedObjectReference) Rules {
	if cluster, ok := ctx.Map.Get(compute).(*simulator.ClusterComputeResource); ok {
		return RulesOf(ctx, cluster, vm)
	}
	return Rules{}
}
