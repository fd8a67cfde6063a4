package topology

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
	kubernetes "github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/release"
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
	checkRelease(p, root.key("spec").key("kubernetes").key("version"), t.Spec.Kubernetes.Version)
	checkNSX(p, root.key("spec").key("nsx"), t.Spec.NSX)
}

// checkRelease checks an optional Kubernetes release.
func checkRelease(p *problems, at *path, version string) {
	if _, ok := kubernetes.Find(version); version != "" && !ok {
		p.field(at, strings.Join(kubernetes.Names(), ", "), "is no release that this program has: %s", strict.Shown(version))
	}
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

// MaxSize is the maximum size of a topology file in bytes: enough for more than ten thousand VMs without replicas.
const MaxSize = input.MaxFile

// problems collects the problems of one topology. It reports a field once: the first error tends to explain others, and the
// replicas of a group share their fields.
type problems struct {
	*strict.Reader
	// sources are the files of root, for line numbers.
	sources sources
	root    *yaml.Node
}

func newProblems(file string) *problems {
	p := &problems{sources: sources{{name: file}}}
	p.Reader = strict.NewReader(file, strict.Language{
		Noun: "topology", APIVersion: APIVersion, Kind: Kind, Size: MaxSize, Items: maxItems, Scalar: scalar,
		Line: func(line, at int) string { return p.sources.describe(line, at) },
	})
	return p
}

// parse parses the latest of the sources, and returns the node of its only document, or nil after a fatal error.
func (p *problems) parse(data []byte) *yaml.Node {
	p.Base = p.sources[len(p.sources)-1].base
	return p.Parse(data)
}

// decode decodes the node at a place into a pointer.
func decode(p *problems, node *yaml.Node, into any, at *path) { p.Decode(node, into, at.String()) }

// substitute replaces ${name} in every value below root. A value that consists only of a parameter gets its type, quoted or not:
// replicas: ${workers} is a number. Keys are not changed.
func substitute(p *problems, known map[string]parameter) {
	values := make(map[string]strict.Value, len(known))
	for name, one := range known {
		values[name] = strict.Value{Text: one.value, Tag: one.kind.tag()}
	}
	p.root = p.Substitute(p.root, "", strict.Values{Known: values})
}

// mark reports an error of the field p at a node's position.
func (p *problems) mark(node *yaml.Node, field *path, hint, format string, args ...any) {
	p.Hint(node, field.String(), hint, format, args...)
}

// field reports an error of the field p at its position, or where it is missing.
func (p *problems) field(field *path, hint, format string, args ...any) {
	if p.has(field) {
		return
	}
	node, _ := locate(p.root, field)
	p.mark(node, field, hint, format, args...)
}

// has reports whether an error of the field, or of an enclosing one, was reported.
func (p *problems) has(field *path) bool {
	if !p.Failed() {
		return false
	}
	for ; field != nil; field = field.up {
		if p.Reported(field.String()) {
			return true
		}
	}
	return p.Reported("")
}

// line returns the position of a field for messages about another one: "12", or "12 of zones.yaml".
// zones.yaml".
func (p *problems) line(at, field *path) string {
	here, _ := locate(p.root, at)
	node, _ := locate(p.root, field)
	return p.sources.describe(node.Line, here.Line)
}

// err returns the collected errors in order, or nil. Nothing can be added afterward.
func (p *problems) err() error {
	err := p.Err()
	list, _ := err.(Errors) //nolint:errorlint // it is not wrapped
	for i := range list {
		file, line := p.sources.find(list[i].Line)
		list[i].File, list[i].Line = file.name, line
	}
	return err
}

type (
	// Error is one problem of a topology file.
	Error = strict.Error
	// Errors are all problems of a topology, the error of [Load].
	Errors = strict.Errors
)

// AllCategories returns the tag categories of every vCenter of the topology, with defaults: those of [Spec.Categories], with
// their details in [Spec.TagCategories], then the others. [Load] names both of Spec.Categories; a topology that names neither, as
// one of vcsim's flags, has only the others.
func (s *Spec) AllCategories() []TagCategory {
	if s.Categories == (Categories{}) {
		others := slices.Clone(s.TagCategories)
		for i := range others {
			fill(&others[i].Cardinality, CardinalitySingle)
		}
		return others
	}
	region, zone := s.Categories.Region, s.Categories.Zone
	fill(&region, defaultRegionCategory)
	fill(&zone, defaultZoneCategory)
	all := []TagCategory{
		{Name: region, Description: "Regions of Kubernetes nodes", Types: placeable()},
		{Name: zone, Description: "Zones of Kubernetes nodes", Types: placeable()},
	}
	for _, category := range s.TagCategories {
		switch category.Name {
		case region:
			fill(&category.Description, all[0].Description)
			all[0] = category
		case zone:
			fill(&category.Description, all[1].Description)
			all[1] = category
		default:
			all = append(all, category)
		}
	}
	for i := range all {
		fill(&all[i].Cardinality, CardinalitySingle)
	}
	return all
}

// The types of object that have tags, as in vSphere's tagging API.
const (
	typeFolder     = "Folder"
	typeDatacenter = "Datacenter"
	typeCluster    = "ClusterComputeResource"
	typeHost       = "HostSystem"
	typePool       = "ResourcePool"
	typeVApp       = "VirtualApp"
	typeVM         = "VirtualMachine"
	typeDatastore  = "Datastore"
	typeNetwork    = "Network"
	typePortGroup  = "DistributedVirtualPortgroup"
	typeSwitch     = "VmwareDistributedVirtualSwitch"
	typeAnySwitch  = "DistributedVirtualSwitch"
	typeCompute    = "ComputeResource"
)

// placeable returns the default types for regions and zones: those from a VM's host up to the root folder.
func placeable() []string {
	return []string{typeDatacenter, typeFolder, typeCluster, typeCompute, typeHost}
}

// taggable returns the types for a category: those of a topology's objects, and others of vSphere.
func taggable() []string {
	return []string{
		typeFolder, typeDatacenter, typeCluster, typeCompute, typeHost, typePool, typeVApp, typeVM, typeDatastore,
		typeNetwork, typePortGroup, typeSwitch, typeAnySwitch,
		"HostNetwork", "OpaqueNetwork", "StoragePod", "com.vmware.content.Library", "com.vmware.content.library.Item",
	}
}

// isFor reports whether the category's tags can be attached to objects of that type.
func (c *TagCategory) isFor(kind string) bool {
	return len(c.Types) == 0 || slices.Contains(c.Types, kind) ||
		kind == typeSwitch && slices.Contains(c.Types, typeAnySwitch)
}

func checkCategories(p *problems, spec *Spec) {
	at := (*path)(nil).key("spec")
	names := newScope(p, "category")
	for i, category := range spec.TagCategories {
		at := at.key("tagCategories").item(i)
		checkName(p, at.key("name"), category.Name, freeName)
		names.add(category.Name, at.key("name"))
		types := newScope(p, "type")
		for j, kind := range category.Types {
			at := at.key("types").item(j)
			if !slices.Contains(taggable(), kind) {
				p.field(at, p.Nearest(kind, taggable()), "is no type of object that takes tags, such as VirtualMachine")
			}
			types.add(kind, at)
		}
	}
	twice := newScope(p, "")
	for i, kind := range spec.AllowDuplicate {
		twice.once(string(kind), at.key("allowDuplicate").item(i))
	}
	twice = newScope(p, "")
	for i, behavior := range spec.Stock {
		twice.once(string(behavior), at.key("stock").item(i))
	}
}
