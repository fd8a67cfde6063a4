package record

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
)

// Options configures [Record]. Only Name is required.
type Options struct {
	// Name is the name of the topology: a DNS label.
	Name string
	// Selection selects the VMs; the zero value means all.
	Selection inventory.Selection
	// Categories are those of regions and zones. Default: those of the sandbox, which pseudonyms also use.
	Categories inventory.Categories
	// Nodes are patterns of the names of VMs that become nodes, ControlPlane of those that become control plane nodes. Default
	// for Nodes: every VM that reports a hostname and is not a template.
	Nodes, ControlPlane []string
	// Pseudonyms, if set, replace names, UUIDs and addresses. Record extends them; the caller saves them.
	Pseudonyms *Pseudonyms
	// OnStep, if set, is called with each step before it starts; vCenters may be slow.
	OnStep func(vcenter, what string)
}

// Recording is the result of [Record].
type Recording struct {
	// File is the topology as YAML, Topology the loaded one.
	File     []byte
	Topology *topology.Topology
	// Warnings describe differences from the vCenters, one line each.
	Warnings []string
}

// Record reads the selected VMs of all connections, with what belongs to them, and returns one topology. It fails if no VM is
// selected.
func Record(ctx context.Context, connections []*vcenter.Connection, o Options) (*Recording, error) {
	o.Categories.Region = cmp.Or(o.Categories.Region, vcenter.DefaultRegion)
	o.Categories.Zone = cmp.Or(o.Categories.Zone, vcenter.DefaultZone)
	r := &recorder{
		Options: o, naming: naming{pseudonyms: o.Pseudonyms}, categories: map[string]bool{},
		top: &topology.Topology{
			APIVersion: topology.APIVersion, Kind: topology.Kind, Metadata: topology.Metadata{Name: o.Name},
		},
	}
	r.top.Spec.Categories = topology.Categories(o.Categories)
	if o.Pseudonyms != nil {
		r.top.Spec.Categories = topology.Categories{Region: vcenter.DefaultRegion, Zone: vcenter.DefaultZone}
	}
	vms, all := 0, make([]*inventory.Inventory, 0, len(connections))
	if o.OnStep == nil {
		o.OnStep = func(string, string) {}
	}
	for _, c := range connections {
		found, err := gather(ctx, c, o)
		if err != nil {
			return nil, err
		}
		vms, all = vms+len(found.inv.VMs), append(all, found.inv)
		r.dated(found)
		r.unread(found)
		if len(found.inv.VMs) > 0 {
			r.vcenter(found)
		}
	}
	if err := inventory.Nowhere(all...); err != nil {
		return nil, err
	}
	if vms == 0 {
		return nil, errors.New("record: no VM is chosen: choose other folders, tags, names or pools")
	}
	r.declare()
	return r.finish()
}

// recorder builds the topology.
type recorder struct {
	Options
	naming
	top *topology.Topology
	// categories are the categories of the recorded tags; true if an object has several tags of one.
	categories map[string]bool
	// zones are the expected regions and zones, by the VMs' places in the topology.
	zones []topology.Place
}

// unread passes on the warnings of reading a vCenter, which have the vCenter's names.
func (r *recorder) unread(f *found) {
	if n := len(f.inv.Warnings); n > 0 && r.pseudonyms != nil {
		r.warn("vCenter %s: what its reading warns of (%d) has names in it: record without pseudonyms to see it", r.pseudonyms.Name("vcenter", f.name), n)
		return
	}
	for _, w := range f.inv.Warnings {
		r.warn("%s", w)
	}
}

// dated warns about an old release: its recording may have more features than the vCenter.
func (r *recorder) dated(f *found) {
	name := f.name
	if r.pseudonyms != nil {
		name = r.pseudonyms.Name("vcenter", name)
	}
	short, err := vcenter.ShortcomingOf(f.about)
	switch {
	case err != nil:
		r.warn("vCenter %s: its release is not known: %v", name, err)
	case short != nil:
		r.warn("vCenter %s is %s %s, API %s: %s: %s", name, f.about.Name, f.about.Version, f.about.ApiVersion, short.Why, short.Try)
	}
}

// declare lists the tag categories, and the duplicate identities.
func (r *recorder) declare() {
	var names []string
	for name := range r.categories {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		c := topology.TagCategory{Name: name}
		if r.categories[name] {
			c.Cardinality = topology.CardinalityMultiple
		}
		r.top.Spec.TagCategories = append(r.top.Spec.TagCategories, c)
	}
	r.top.Spec.AllowDuplicate = duplicates(r.top)
}

// marks returns the tags of an object.
func (r *recorder) marks(o *inventory.Object) topology.Marks {
	var m topology.Marks
	if o == nil {
		return m
	}
	for _, tag := range o.Tags {
		kind, category := "tag", tag.Category
		switch category {
		case r.Categories.Region:
			kind, category = "region", r.top.Spec.Categories.Region
		case r.Categories.Zone:
			kind, category = "zone", r.top.Spec.Categories.Zone
		default:
			category = r.name("category", category)
		}
		name := tag.Name
		if r.pseudonyms != nil {
			name = r.pseudonyms.Name(kind, name)
		}
		twice := slices.ContainsFunc(m.Tags, func(other topology.Tag) bool { return other.Category == category })
		r.categories[category] = r.categories[category] || twice
		m.Tags = append(m.Tags, topology.Tag{Category: category, Name: name})
	}
	return m
}
