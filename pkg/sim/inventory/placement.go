package inventory

import (
	"fmt"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Placement returns the groups and VM-host rules of a compute cluster in vSphere's terms. Hosts are asked for by name, VMs by their
// path below the datacenter's VM folder; a name without a reference is left out.
func Placement(c *topology.Cluster, host, vm func(string) (vc.Ref, bool)) (groups []types.BaseClusterGroupInfo, rules []types.BaseClusterRuleInfo) {
	refs := func(names []string, of func(string) (vc.Ref, bool)) (all []vc.Ref) {
		for _, name := range names {
			if ref, ok := of(name); ok {
				all = append(all, ref)
			}
		}
		return all
	}
	named := func(name string) types.ClusterGroupInfo {
		return types.ClusterGroupInfo{Name: name, UserCreated: new(true)}
	}
	for _, g := range c.HostGroups {
		groups = append(groups, &types.ClusterHostGroup{ClusterGroupInfo: named(g.Name), Host: refs(g.Hosts, host)})
	}
	for _, g := range c.VMGroups {
		groups = append(groups, &types.ClusterVmGroup{ClusterGroupInfo: named(g.Name), Vm: refs(g.VMs, vm)})
	}
	for _, r := range c.Rules {
		rule := &types.ClusterVmHostRuleInfo{
			ClusterRuleInfo: types.ClusterRuleInfo{
				Name: r.Name, Enabled: new(true), Mandatory: new(r.Type.Mandatory()), UserCreated: new(true), InCompliance: new(true),
			},
			VmGroupName: r.VMGroup,
		}
		if r.Type.Affine() {
			rule.AffineHostGroupName = r.HostGroup
		} else {
			rule.AntiAffineHostGroupName = r.HostGroup
		}
		rules = append(rules, rule)
	}
	return groups, rules
}

// placement creates the host groups, VM groups and VM-host rules of the compute clusters.
func (b *builder) placement(dc *datacenter) error {
	for i := range dc.Clusters {
		spec := &dc.Clusters[i]
		c := dc.clusters[spec.Name]
		groups, rules := Placement(spec,
			func(name string) (vc.Ref, bool) {
				h, ok := dc.byName[name]
				if !ok {
					return vc.Ref{}, false
				}
				return h.obj.Self, true
			},
			func(path string) (vc.Ref, bool) { ref, ok := c.members[path]; return ref, ok })
		if len(groups)+len(rules) == 0 {
			continue
		}
		if err := b.reconfigure(b.sim.Map.Get(c.obj.Self).(*simulator.ClusterComputeResource), Add(groups, rules)); err != nil {
			return fmt.Errorf("groups and rules of cluster %q: %w", spec.Name, err)
		}
		ctx := b.fresh()
		ctx.WithLock(c.obj.Self, func() { // the same in each run
			for _, rule := range rules {
				info := rule.GetClusterRuleInfo()
				info.RuleUuid = b.derive("rule", dc.Name, spec.Name, info.Name)
			}
		})
	}
	return nil
}

// Add returns the change that adds groups and rules.
func Add(groups []types.BaseClusterGroupInfo, rules []types.BaseClusterRuleInfo) *types.ClusterConfigSpecEx {
	add := types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationAdd}
	spec := new(types.ClusterConfigSpecEx)
	for _, g := range groups {
		spec.GroupSpec = append(spec.GroupSpec, types.ClusterGroupSpec{ArrayUpdateSpec: add, Info: g})
	}
	for _, r := range rules {
		spec.RulesSpec = append(spec.RulesSpec, types.ClusterRuleSpec{ArrayUpdateSpec: add, Info: r})
	}
	return spec
}

// reconfigure changes a cluster by a call, because vcsim numbers the rules.
func (b *builder) reconfigure(cluster *simulator.ClusterComputeResource, spec *types.ClusterConfigSpecEx) error {
	ctx := b.fresh()
	var body soap.HasFault
	ctx.WithLock(cluster, func() {
		body = cluster.ReconfigureComputeResourceTask(ctx, &types.ReconfigureComputeResource_Task{This: cluster.Self, Spec: spec, Modify: true})
	})
	if err := vc.Err(body); err != nil {
		return err
	}
	_, err := b.tasks.wait(b.fresh(), body.(*methods.ReconfigureComputeResource_TaskBody).Res.Returnval)
	return err
}
