package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
)

// judgeLabels compares the labels of zones that the in-tree provider set with those that are used now.
func (c *run) judgeLabels() {
	var differ, only, old []string
	for _, n := range c.report.Nodes {
		switch {
		case n.OldZone == "" && n.OldRegion == "":
			continue
		case n.Zone == "" && n.Region == "":
			only = append(only, n.Name)
		case n.OldZone != n.Zone || n.OldRegion != n.Region:
			differ = append(differ, n.Name+" ("+n.OldRegion+"/"+n.OldZone+", "+n.Region+"/"+n.Zone+")")
		}
		old = append(old, n.Name)
	}
	if len(old) == 0 {
		c.pass("node-labels", cluster, "%s: none has a label of failure-domain.beta.kubernetes.io", count(len(c.report.Nodes), "node"))
		return
	}
	if len(differ) == 0 && len(only) == 0 {
		c.pass("node-labels", cluster, "%d of %d nodes have labels of failure-domain.beta.kubernetes.io, and the same of topology.kubernetes.io",
			len(old), len(c.report.Nodes))
	}
	if len(differ) > 0 {
		c.each(Finding{
			Check: "node-labels", Verdict: Warn, Where: cluster,
			Why: "a cloud controller manager takes the old label for the truth, and writes its value over the new one",
			Try: "correct the old label: kubectl label node NODE --overwrite failure-domain.beta.kubernetes.io/zone=ZONE failure-domain.beta.kubernetes.io/region=REGION",
		}, differ, len(c.report.Nodes), "node", "", "have labels of failure-domain.beta.kubernetes.io that are not those of topology.kubernetes.io")
	}
	if len(only) > 0 {
		c.each(Finding{
			Check: "node-labels", Verdict: Warn, Where: cluster,
			Why: "what selects zones by topology.kubernetes.io does not find them until a cloud controller manager has copied the labels",
			Try: "nothing: it does that at once when it starts; selectors of your own on the old labels have to be changed",
		}, only, len(c.report.Nodes), "node", "", "have labels of failure-domain.beta.kubernetes.io only")
	}
	c.judgeOldZones()
}

// judgeOldZones compares old labels with the tags of VMs.
func (c *run) judgeOldZones() {
	var moved []string
	for _, n := range c.report.Nodes {
		if n.VM == nil || n.VM.Zone == "" || n.OldZone == "" || n.OldZone == n.VM.Zone && n.OldRegion == n.VM.Region {
			continue
		}
		moved = append(moved, n.Name+" ("+n.OldRegion+"/"+n.OldZone+", tags "+n.VM.Region+"/"+n.VM.Zone+")")
	}
	if len(moved) > 0 {
		c.each(Finding{
			Check: "node-old-zones", Verdict: Warn, Where: cluster,
			Why: "the old labels stay, and a cloud controller manager has the new ones follow them",
			Try: "remove the old labels of these nodes before the cloud controller manager starts: kubectl label node NODE failure-domain.beta.kubernetes.io/zone- failure-domain.beta.kubernetes.io/region-",
		}, moved, len(c.report.Nodes), "node", "", "have old labels that are not the tags of their VMs")
	}
}

// judgeTags looks for tags of regions and zones that contradict each other, or have no effect.
func (c *run) judgeTags() {
	for _, s := range c.vcenters {
		c.judgeTwice(s)
		c.judgePlace(s)
	}
}

// zoneTags are an object's of a category.
func zoneTags(o *inventory.Object, category string) []string {
	var names []string
	for _, t := range o.Tags {
		if t.Category == category {
			names = append(names, t.Name)
		}
	}
	return names
}

func (c *run) categories() []string { return []string{c.in.VCenters.Region, c.in.VCenters.Zone} }

// nodesOf are the VMs of the vCenter that are nodes.
func (c *run) nodesOf(s *seen) []inventory.VM {
	return slices.DeleteFunc(slices.Clone(s.vms), func(vm inventory.VM) bool {
		return !slices.ContainsFunc(c.report.Nodes, func(n Node) bool {
			return n.VM != nil && n.VM.VCenter == s.name && n.VM.Path == vm.Path
		})
	})
}

// judgeTwice looks for objects around nodes with two tags of one category.
func (c *run) judgeTwice(s *seen) {
	twice := map[string]bool{}
	around := 0
	seenRef := map[types.ManagedObjectReference]bool{}
	for _, vm := range c.nodesOf(s) {
		for _, start := range []types.ManagedObjectReference{vm.HostRef, vm.PoolRef, vm.Ref} {
			for _, o := range s.tree.Up(start) {
				if seenRef[o.Ref] {
					continue
				}
				seenRef[o.Ref] = true
				around++
				for _, category := range c.categories() {
					if names := zoneTags(o, category); len(names) > 1 {
						twice[fmt.Sprintf("%s (%s: %s)", s.tree.Path(o.Ref), category, strings.Join(names, ", "))] = true
					}
				}
			}
		}
	}
	if around == 0 {
		return
	}
	c.each(Finding{
		Check: "tags-twice", Verdict: Fail, Where: s.name, Why: "which of the tags counts is chance: nodes change their zone without a move",
		Try: "leave one tag of a category on each object: govc tags.detach -c CATEGORY TAG PATH",
	}, slices.Sorted(maps.Keys(twice)), around, "object", "none of those around nodes has two tags of one category", "around nodes have two tags of one category")
}

// judgePlace looks for tags that are not on the way up from a node's host.
func (c *run) judgePlace(s *seen) {
	vms := c.nodesOf(s)
	if len(vms) == 0 {
		return
	}
	var unseen, against []string
	for _, vm := range vms {
		for _, category := range c.categories() {
			host, at := nearest(s.tree, vm.HostRef, category)
			own, where := nearest(s.tree, vm.Ref, category)
			if pool, from := nearest(s.tree, vm.PoolRef, category); own == "" {
				own, where = pool, from
			}
			switch {
			case own == "" || own == host:
			case host == "":
				unseen = append(unseen, fmt.Sprintf("%s (%s %s on %s)", vm.Path, category, own, where))
			case where != at:
				against = append(against, fmt.Sprintf("%s (%s %s on %s, %s on %s)", vm.Path, category, host, at, own, where))
			}
		}
	}
	c.each(Finding{
		Check: "tags-place", Verdict: Warn, Where: s.name, Why: "the CSI driver looks at a node's host and what is around it, and finds no zone for its volumes",
		Try: "attach the tag to the host, its cluster or its datacenter: govc tags.attach -c CATEGORY TAG PATH",
	}, unseen, len(vms), "node", "none has its region and zone from tags on the VM, its folders or its pool alone", "have a tag on the VM, its folders or its pool alone")
	c.each(Finding{
		Check: "tags-contradict", Verdict: Warn, Where: s.name, Why: "the one near the host counts, and the other one misleads who reads it",
		Try: "detach the tag that does not count: govc tags.detach -c CATEGORY TAG PATH",
	}, against, len(vms), "node", "no tag on the VM, its folders or its pool contradicts those of its host", "have a tag on the VM, its folders or its pool that is not that of its host")
	c.judgeElsewhere(s)
}

// judgeElsewhere looks for tags on what no node is in.
func (c *run) judgeElsewhere(s *seen) {
	var found []string
	for ref, o := range s.tree {
		switch ref.Type {
		case "Datastore", "StoragePod", "Network", "DistributedVirtualPortgroup", "OpaqueNetwork":
		default:
			continue
		}
		for _, category := range c.categories() {
			for _, name := range zoneTags(o, category) {
				found = append(found, fmt.Sprintf("%s (%s %s)", s.tree.Path(ref), category, name))
			}
		}
	}
	if len(found) == 0 {
		return
	}
	slices.Sort(found)
	c.add(Finding{
		Check: "tags-elsewhere", Verdict: Warn, Where: s.name, Found: "tags of regions and zones are on datastores and networks: " + shorten.List(found, shown),
		Why: "they have no effect: a datastore is in the zones of the hosts that reach it", Try: "detach them: govc tags.detach -c CATEGORY TAG PATH", Objects: found,
	})
}

// nearest returns the first tag of a category on the way up, and where it is; empty if there is no such tag.
func nearest(t inventory.Tree, from types.ManagedObjectReference, category string) (tag, path string) {
	for _, o := range t.Up(from) {
		if names := zoneTags(o, category); len(names) > 0 {
			return names[0], t.Path(o.Ref)
		}
	}
	return "", ""
}
