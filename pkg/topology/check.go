package topology

import (
	"cmp"
	"strconv"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
)

// The configuration maximums of vSphere 8, which also limit the effect of typos.
const (
	maxHostCPUs   = 1024
	maxVMCPUs     = 768
	maxMemory     = 24 * Ti
	minimalMemory = 4 * Mi
)

// checkHeader checks everything above the inventory.
func checkHeader(p *problems, t *Topology) {
	root := (*path)(nil)
	checkConstant(p, root.key("apiVersion"), t.APIVersion, APIVersion)
	checkConstant(p, root.key("kind"), t.Kind, Kind)
	checkName(p, root.key("metadata").key("name"), t.Metadata.Name, dnsLabel)
	checkHas(p, vcentersPath(), len(t.Spec.VCenters), "vCenter")

	at := root.key("spec").key("categories")
	checkOptional(p, at.key("region"), t.Spec.Categories.Region, inventoryName)
	checkOptional(p, at.key("zone"), t.Spec.Categories.Zone, inventoryName)
	region, zone := t.Spec.Categories.Region, t.Spec.Categories.Zone
	fill(&region, defaultRegionCategory)
	fill(&zone, defaultZoneCategory)
	if region == zone {
		p.field(at, "", "needs two different categories, not %s twice", strict.Shown(region))
	}
	checkCategories(p, &t.Spec)
}

func checkConstant(p *problems, at *path, value, want string) {
	switch value {
	case want:
	case "":
		p.field(at, "", "is required, and must be %s", want)
	default:
		p.field(at, "", "must be %s, not %s", want, strict.Shown(value))
	}
}

// checkName checks a required name.
func checkName(p *problems, at *path, name string, r rule) {
	if name != "" {
		checkOptional(p, at, name, r)
		return
	}
	if node, found := locate(p.root, at); found && !strict.IsNull(node) {
		p.field(at, "", "must not be empty")
		return
	}
	p.field(at, "", "is required")
}

// checkOptional checks a name if it is set.
func checkOptional(p *problems, at *path, name string, r rule) {
	if name == "" {
		return
	}
	if complaint, hint := r(name); complaint != "" {
		p.field(at, hint, "%s", complaint)
	}
}

// checkHas reports an empty list that needs an item.
func checkHas(p *problems, at *path, count int, noun string) {
	if count == 0 {
		p.field(at, "", "needs at least one %s", noun)
	}
}

func checkPlace(p *problems, at *path, place Place) {
	checkOptional(p, at.key("region"), place.Region, tagName)
	checkOptional(p, at.key("zone"), place.Zone, tagName)
}

func checkMost[T int32 | Bytes](p *problems, at *path, value, most T) {
	if value > most {
		p.field(at, "", "must be at most %v, not %v", most, value)
	}
}

func checkMemory(p *problems, at *path, memory Bytes) {
	checkMost(p, at, memory, maxMemory)
	written := ""
	if memory < minimalMemory || memory%Mi != 0 {
		node, _ := locate(p.root, at)
		written = node.Value
	}
	if memory < minimalMemory {
		hint := ""
		if _, err := strconv.ParseUint(written, 10, 31); err == nil {
			hint = written + "Mi" // vSphere's own unit
		}
		p.field(at, hint, "must be at least %v, not %v", minimalMemory, memory)
	}
	if memory%Mi != 0 {
		p.field(at, cmp.Or(binarySize(written), ((memory+Mi/2)/Mi*Mi).String()), "must be a whole number of Mi, as vSphere counts memory")
	}
}

// checkInventory checks all names and values, and that names are unique where required.
func checkInventory(p *problems, t *Topology, sites []*site) {
	vcenters, left, m := newScope(p, "vCenter"), sites, newMarking(p, &t.Spec)
	nodes := newScope(p, "node")
	for i := range t.Spec.VCenters {
		vcenter, at := &t.Spec.VCenters[i], vcentersPath().item(i)
		checkName(p, at.key("name"), vcenter.Name, dnsLabel)
		vcenters.add(vcenter.Name, at.key("name"))
		checkHas(p, at.key("datacenters"), len(vcenter.Datacenters), "datacenter")
		here := left[:len(vcenter.Datacenters)]
		left = left[len(vcenter.Datacenters):]
		checkVCenter(p, m, vcenter, at, here)
		for _, s := range here {
			checkVMs(p, m, &t.Spec, s, nodes)
		}
	}
}

func checkVCenter(p *problems, m *marking, vcenter *VCenter, at *path, sites []*site) {
	checkOptional(p, at.key("version"), vcenter.Version, releaseVersion)
	m.accounts = checkAccounts(p, vcenter, at)
	m.check(vcenter.Marks, Place{}, typeFolder, at)
	m.checkPolicies(vcenter.Policies, at.key("policies"))
	checkReactions(p, vcenter, at)
	checkFolders(p, m, vcenter, at, sites)
	datacenters, hosts := newScope(p, "datacenter"), newScope(p, "host")
	for _, s := range sites {
		dc := s.datacenter
		checkName(p, s.at.key("name"), dc.Name, inventoryName)
		datacenters.add(dc.Name, s.at.key("name"))
		checkDatacenter(p, m, s, hosts)
	}
}

// checkReactions checks a vCenter's automatic actions, and that details only accompany enabled ones.
func checkReactions(p *problems, vcenter *VCenter, at *path) {
	at = at.key("reactions")
	r := vcenter.Reactions
	needsEnabled(p, r.HA.Enabled, r.HA != HA{}, at.key("ha"))
	needsEnabled(p, r.DRS.Enabled, r.DRS != DRS{}, at.key("drs"))
	needsEnabled(p, r.DHCP.Enabled, r.DHCP != DHCP{}, at.key("dhcp"))
	largest := 0
	for _, dc := range vcenter.Datacenters {
		for _, cluster := range dc.Clusters {
			largest = max(largest, len(cluster.Hosts))
		}
	}
	if failures := int(r.HA.HostFailures); largest > 0 && failures >= largest {
		p.field(at.key("ha").key("hostFailures"), "", "leaves no host of any compute cluster, the largest of which has %s: no VM could be powered on",
			shorten.Count(largest, "host"))
	}
}

// needsEnabled reports details of a reaction that is neither enabled nor explicitly disabled.
func needsEnabled(p *problems, enabled Choice, reported bool, at *path) {
	if reported && enabled == "" {
		p.field(at, "", "has no effect without enabled: yes (or enabled: no, to keep it for later)")
	}
}
