package topology

import (
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/glob"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
)

// HostGroup is a host group of a compute cluster: a failure domain, if a VM-host rule names it.
type HostGroup struct {
	// Name is unique among the host and VM groups of the cluster.
	Name string `json:"name"`
	// Hosts are names of the cluster's hosts, or patterns with * and ?. Load replaces patterns by the names.
	Hosts []string `json:"hosts"`
}

// VMGroup is a VM group of a compute cluster. It may be empty: a machine controller adds VMs.
type VMGroup struct {
	// Name is unique among the host and VM groups of the cluster.
	Name string `json:"name"`
	// VMs are paths of VMs below the datacenter's VM folder, or patterns with * and ?. Load replaces patterns by the paths of the
	// VMs in this cluster.
	VMs []string `json:"vms,omitempty"`
}

// HostRule is a VM-host rule of a compute cluster: DRS and HA obey it, and the placement of the topology's VMs.
type HostRule struct {
	// Name is unique among the rules of the cluster.
	Name string `json:"name"`
	// VMGroup and HostGroup are groups of the cluster.
	VMGroup   string `json:"vmGroup"`
	HostGroup string `json:"hostGroup"`
	// Type is what the rule says about VMs and hosts. Default: should-run-on.
	Type RuleType `json:"type,omitempty"`
}

// RuleType is the type of a VM-host rule.
type RuleType string

// The types of rules, in the words of the vSphere Client.
const (
	MustRunOn      RuleType = "must-run-on"
	ShouldRunOn    RuleType = "should-run-on"
	MustNotRunOn   RuleType = "must-not-run-on"
	ShouldNotRunOn RuleType = "should-not-run-on"
)

func (RuleType) choices() []string {
	return []string{string(MustRunOn), string(ShouldRunOn), string(MustNotRunOn), string(ShouldNotRunOn)}
}

// Mandatory reports whether no VM ever runs against the rule.
func (r RuleType) Mandatory() bool { return r == MustRunOn || r == MustNotRunOn }

// Affine reports whether VMs run on the hosts of the group, not on the others.
func (r RuleType) Affine() bool { return r == MustRunOn || r == ShouldRunOn }

// The largest numbers of a compute cluster, which limit the effect of typos.
const (
	maxGroups  = 100
	maxMembers = 1000
)

// checkPlacement checks the groups and rules of a compute cluster whose hosts are expanded, and replaces patterns of hosts.
func checkPlacement(p *problems, cluster *Cluster, at *path) {
	if len(cluster.HostGroups)+len(cluster.VMGroups)+len(cluster.Rules) == 0 {
		return
	}
	cluster.HostGroups = few(p, cluster.HostGroups, maxGroups, at.key("hostGroups"), "a compute cluster")
	cluster.VMGroups = few(p, cluster.VMGroups, maxGroups, at.key("vmGroups"), "a compute cluster")
	cluster.Rules = few(p, cluster.Rules, maxGroups, at.key("rules"), "a compute cluster")
	hosts := make([]string, len(cluster.Hosts))
	for i := range cluster.Hosts {
		hosts[i] = cluster.Hosts[i].Name
	}
	groups, hostGroups, vmGroups := newScope(p, "group"), newScope(p, "host group"), newScope(p, "VM group")
	named := func(name string, kind *scope, at *path) {
		checkName(p, at, name, inventoryName)
		groups.add(name, at)
		kind.enter(name, at)
	}
	where := "compute cluster " + strict.Shown(cluster.Name)
	for i := range cluster.HostGroups {
		group, at := &cluster.HostGroups[i], at.key("hostGroups").item(i)
		named(group.Name, hostGroups, at.key("name"))
		checkHas(p, at.key("hosts"), len(group.Hosts), "host")
		group.Hosts = matched(p, group.Hosts, hosts, "host", at.key("hosts"), where)
	}
	for i := range cluster.VMGroups {
		named(cluster.VMGroups[i].Name, vmGroups, at.key("vmGroups").item(i).key("name"))
	}
	hostGroups.forgive(at.key("hostGroups"))
	vmGroups.forgive(at.key("vmGroups"))
	rules := newScope(p, "rule")
	for i := range cluster.Rules {
		rule, at := &cluster.Rules[i], at.key("rules").item(i)
		checkName(p, at.key("name"), rule.Name, inventoryName)
		rules.add(rule.Name, at.key("name"))
		fill(&rule.Type, ShouldRunOn)
		for _, one := range []struct {
			name, key string
			in        *scope
		}{{rule.VMGroup, "vmGroup", vmGroups}, {rule.HostGroup, "hostGroup", hostGroups}} {
			checkName(p, at.key(one.key), one.name, anyName)
			if one.name != "" {
				one.in.refer(one.name, at.key(one.key), where)
			}
		}
	}
}

// matched returns the names that any of the patterns matches, in the order of names. It reports a pattern that matches none.
func matched(p *problems, patterns, names []string, noun string, list *path, where string) []string {
	member := make([]bool, len(names))
	known := newScope(p, noun)
	for _, name := range names {
		known.enter(name, nil)
	}
	for i, pattern := range few(p, patterns, maxMembers, list, "a group") {
		at, found := list.item(i), false
		checkName(p, at, pattern, anyName)
		for j, name := range names {
			if pattern != "" && glob.Match(pattern, name) {
				member[j], found = true, true
			}
		}
		if !found && pattern != "" && !known.broken {
			known.refer(pattern, at, where)
		}
	}
	var all []string
	for i, name := range names {
		if member[i] {
			all = append(all, name)
		}
	}
	return all
}

// resolveVMGroups replaces the patterns of VM groups by the paths of the VMs in their compute cluster, which are placed.
func resolveVMGroups(p *problems, s *site) {
	for i := range s.datacenter.Clusters {
		cluster := &s.datacenter.Clusters[i]
		if len(cluster.VMGroups) == 0 {
			continue
		}
		var paths []string
		for j := range s.datacenter.VMs {
			if vm := &s.datacenter.VMs[j]; vm.Cluster == cluster.Name && vm.Template != Yes {
				paths = append(paths, join(vm.Folder, vm.Name))
			}
		}
		for j := range cluster.VMGroups {
			group, at := &cluster.VMGroups[j], s.at.key("clusters").item(i).key("vmGroups").item(j).key("vms")
			if !p.Failed() { // a VM that could not be placed is reported, not the group that lacks it
				group.VMs = matched(p, group.VMs, paths, "VM", at, "compute cluster "+strict.Shown(cluster.Name))
			}
		}
	}
}

// against returns the first rule of the host's compute cluster, mandatory or of any type, that the VM would break there.
func (h sitedHost) against(vm *VM, mandatory bool) *HostRule {
	if h.cluster == nil || vm.Template == Yes {
		return nil
	}
	for i := range h.cluster.Rules {
		rule := &h.cluster.Rules[i]
		if mandatory && !rule.Type.Mandatory() {
			continue
		}
		member := slices.ContainsFunc(h.cluster.VMGroups, func(g VMGroup) bool {
			return g.Name == rule.VMGroup && slices.ContainsFunc(g.VMs, func(pattern string) bool { return glob.Match(pattern, join(vm.Folder, vm.Name)) })
		})
		on := slices.ContainsFunc(h.cluster.HostGroups, func(g HostGroup) bool {
			return g.Name == rule.HostGroup && slices.Contains(g.Hosts, h.Name)
		})
		if member && on != rule.Type.Affine() {
			return rule
		}
	}
	return nil
}

// shown returns the rule as in messages: rule "site-a" (must-run-on "site-a").
func (r *HostRule) shown() string {
	return "rule " + strict.Shown(r.Name) + " (" + strings.Join([]string{string(r.Type), "host group", strict.Shown(r.HostGroup)}, " ") + ")"
}
