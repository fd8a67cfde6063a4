package apply

import (
	"context"
	"slices"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// placement plans the groups and VM-host rules of compute clusters, when their hosts and VMs exist.
func (p *planner) placement(want []*named, vms []*plannedVM) {
	for _, n := range want {
		if n.kind != KindCluster {
			continue
		}
		var now types.ClusterConfigInfoEx
		if live := p.byKey[n.key]; live != nil {
			now = get[types.ClusterConfigInfoEx](live, "configurationEx")
		}
		if c := p.placementChange(n, vms, now); c.missing+len(c.GroupSpec)+len(c.RulesSpec) == 0 {
			continue
		}
		p.step(Change, KindCluster, n.path, "groups and VM-host rules", func(ctx context.Context, c *vim25.Client) error {
			cluster, err := p.find(n.key)
			if err != nil {
				return err
			}
			config, err := reload[types.ClusterConfigInfoEx](ctx, c, cluster, "configurationEx")
			if err != nil {
				return err
			}
			change := p.placementChange(n, vms, config)
			t, err := object.NewClusterComputeResource(c, cluster).Reconfigure(ctx, &change.ClusterConfigSpecEx, true)
			return wait(ctx, t, err)
		})
	}
}

// placementChange is a change of groups and rules.
type placementChange struct {
	types.ClusterConfigSpecEx
	// missing are hosts and VMs that do not exist yet.
	missing int
}

// placementChange compares a compute cluster with the topology. VMs that other clients added to a group stay in it, and so do groups
// and rules that no topology named, without Prune.
func (p *planner) placementChange(n *named, vms []*plannedVM, live types.ClusterConfigInfoEx) (change placementChange) {
	host := func(name string) (ref, bool) {
		o := p.byKey[n.key+"/"+name]
		if o == nil {
			change.missing++
			return ref{}, false
		}
		return o.ref, true
	}
	vm := func(path string) (ref, bool) {
		key := dcKey(n.dc) + "/vm/" + path
		for _, m := range vms {
			if m.key == key && m.ref != (ref{}) {
				return m.ref, true
			}
		}
		change.missing++
		return ref{}, false
	}
	gone := func(path string) (ref, bool) { // a member of the previous topology
		key := dcKey(n.dc) + "/vm/" + path
		i := slices.IndexFunc(p.vms, func(o *entity) bool { return o.key == key })
		if i < 0 {
			return ref{}, false
		}
		return p.vms[i].ref, true
	}
	var had topology.Cluster
	if before := p.before[n.key]; before != nil && before.cluster != nil {
		had = *before.cluster
	}
	none := func(string) (ref, bool) { return ref{}, false }
	groups, rules := inventory.Placement(n.cluster, host, vm)
	oldGroups, oldRules := inventory.Placement(&had, none, gone)
	change.groups(groups, oldGroups, live.Group, p.opts.Prune)
	change.rules(rules, oldRules, live.Rule, p.opts.Prune)
	return change
}

func groupName(g types.BaseClusterGroupInfo) string { return g.GetClusterGroupInfo().Name }

func (c *placementChange) groups(want, had, live []types.BaseClusterGroupInfo, prune bool) {
	find := func(in []types.BaseClusterGroupInfo, name string) types.BaseClusterGroupInfo {
		if i := slices.IndexFunc(in, func(g types.BaseClusterGroupInfo) bool { return groupName(g) == name }); i >= 0 {
			return in[i]
		}
		return nil
	}
	for _, g := range want {
		now := find(live, groupName(g))
		op := types.ArrayUpdateOperationEdit
		switch wanted := g.(type) {
		case *types.ClusterHostGroup:
			if is, ok := now.(*types.ClusterHostGroup); ok && sameRefs(is.Host, wanted.Host) {
				continue
			}
		case *types.ClusterVmGroup:
			is, ok := now.(*types.ClusterVmGroup)
			if !ok {
				break
			}
			before, _ := find(had, groupName(g)).(*types.ClusterVmGroup)
			for _, vm := range is.Vm {
				if !slices.Contains(wanted.Vm, vm) && (before == nil || !slices.Contains(before.Vm, vm)) {
					wanted.Vm = append(wanted.Vm, vm)
				}
			}
			if sameRefs(is.Vm, wanted.Vm) {
				continue
			}
		}
		if now == nil {
			op = types.ArrayUpdateOperationAdd
		}
		c.GroupSpec = append(c.GroupSpec, types.ClusterGroupSpec{ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: op}, Info: g})
	}
	for _, g := range live {
		if name := groupName(g); find(want, name) == nil && (prune || find(had, name) != nil) {
			c.GroupSpec = append(c.GroupSpec, types.ClusterGroupSpec{
				ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationRemove, RemoveKey: name},
			})
		}
	}
}

func (c *placementChange) rules(want, had, live []types.BaseClusterRuleInfo, prune bool) {
	find := func(in []types.BaseClusterRuleInfo, name string) *types.ClusterVmHostRuleInfo {
		for _, r := range in {
			if rule, ok := r.(*types.ClusterVmHostRuleInfo); ok && rule.Name == name {
				return rule
			}
		}
		return nil
	}
	for _, r := range want {
		rule := r.(*types.ClusterVmHostRuleInfo)
		now, op := find(live, rule.Name), types.ArrayUpdateOperationAdd
		if now != nil {
			rule.Key, rule.RuleUuid, op = now.Key, now.RuleUuid, types.ArrayUpdateOperationEdit
			if now.VmGroupName == rule.VmGroupName && now.AffineHostGroupName == rule.AffineHostGroupName &&
				now.AntiAffineHostGroupName == rule.AntiAffineHostGroupName && isSet(now.Enabled) && isSet(now.Mandatory) == isSet(rule.Mandatory) {
				continue
			}
		}
		c.RulesSpec = append(c.RulesSpec, types.ClusterRuleSpec{ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: op}, Info: rule})
	}
	for _, r := range live {
		rule, ok := r.(*types.ClusterVmHostRuleInfo)
		if ok && find(want, rule.Name) == nil && (prune || find(had, rule.Name) != nil) {
			c.RulesSpec = append(c.RulesSpec, types.ClusterRuleSpec{
				ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationRemove, RemoveKey: rule.Key},
			})
		}
	}
}

func isSet(b *bool) bool { return b != nil && *b }

// sameRefs reports whether two lists hold the same objects.
func sameRefs(a, b []ref) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(r ref) bool { return !slices.Contains(b, r) })
}
