package record

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

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
	if err := inventory.CheckAbsent(all...); err != nil {
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

type ref = types.ManagedObjectReference

// found is what was read of one vCenter.
type found struct {
	name       string
	about      types.AboutInfo
	inv        *inventory.Inventory
	machines   map[ref]mo.VirtualMachine
	diskUUID   map[ref]bool               // VMs with disk.enableUUID
	computes   map[ref]mo.ComputeResource // compute resources of the selected VMs
	hosts      map[ref]mo.HostSystem      // all hosts of those
	datastores map[ref]mo.Datastore       // all that those mount
	groups     map[ref]mo.DistributedVirtualPortgroup
}

// gather reads the selected VMs, and then what belongs to them.
func gather(ctx context.Context, c *vcenter.Connection, o Options) (*found, error) {
	f := &found{name: c.VCenter.Name}
	err := c.Do(ctx, func(_ context.Context, vim *vim25.Client) error {
		f.about = vim.ServiceContent.About
		return nil
	})
	if err != nil {
		return nil, err
	}
	o.OnStep(f.name, "inventory")
	if f.inv, err = inventory.Read(ctx, c, o.Selection, o.Categories); err != nil || len(f.inv.VMs) == 0 {
		return f, err
	}
	var vms, computes, hosts, datastores, groups []ref
	for _, vm := range f.inv.VMs {
		vms = append(vms, vm.Ref)
		if compute := f.inv.Tree.Above(vm.HostRef, "ComputeResource", "ClusterComputeResource"); compute != nil {
			computes = append(computes, compute.Ref)
		}
	}
	o.OnStep(f.name, fmt.Sprintf("%d VMs", len(vms)))
	f.machines, err = read[mo.VirtualMachine](ctx, c, vms,
		"config.hardware", "config.guestId", "config.files.vmPathName", "guest.net", "network")
	if err != nil {
		return nil, err
	}
	o.OnStep(f.name, "hosts")
	if f.diskUUID, err = diskUUIDs(ctx, c, f.inv.VMs); err != nil {
		return nil, err
	}
	if f.computes, err = read[mo.ComputeResource](ctx, c, computes, "host"); err != nil {
		return nil, err
	}
	for _, compute := range f.computes {
		hosts = append(hosts, compute.Host...)
	}
	f.hosts, err = read[mo.HostSystem](ctx, c, hosts,
		"summary.hardware", "datastore", "runtime.connectionState", "runtime.inMaintenanceMode")
	if err != nil {
		return nil, err
	}
	for _, host := range f.hosts {
		datastores = append(datastores, host.Datastore...)
	}
	o.OnStep(f.name, "datastores and networks")
	if f.datastores, err = read[mo.Datastore](ctx, c, datastores, "summary"); err != nil {
		return nil, err
	}
	for _, m := range f.machines {
		for _, network := range m.Network {
			if network.Type == "DistributedVirtualPortgroup" {
				groups = append(groups, network)
			}
		}
	}
	f.groups, err = read[mo.DistributedVirtualPortgroup](ctx, c, groups, "config")
	return f, err
}

// diskUUIDs returns the VMs with disk.enableUUID: by the flag that a vCenter derives from it, or else by the setting.
func diskUUIDs(ctx context.Context, c *vcenter.Connection, vms []inventory.VM) (map[ref]bool, error) {
	all := map[ref]bool{}
	var unsaid []ref
	for _, vm := range vms {
		if all[vm.Ref] = vm.DiskUUID; !vm.DiskUUID {
			unsaid = append(unsaid, vm.Ref)
		}
	}
	found, err := read[mo.VirtualMachine](ctx, c, unsaid, "config.extraConfig")
	if err != nil {
		return nil, err
	}
	for one, vm := range found {
		if vm.Config == nil {
			continue
		}
		for _, option := range vm.Config.ExtraConfig {
			o := option.GetOptionValue()
			if value, _ := o.Value.(string); strings.EqualFold(o.Key, "disk.enableUUID") {
				all[one] = strings.EqualFold(value, "true") || value == "1"
			}
		}
	}
	return all, nil
}

// read reads properties of objects, a few hundred a call, without removed ones.
func read[T any](ctx context.Context, c *vcenter.Connection, refs []ref, properties ...string) (map[ref]T, error) {
	slices.SortFunc(refs, func(a, b ref) int { return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Value, b.Value)) })
	all := map[ref]T{}
	for some := range slices.Chunk(slices.Compact(refs), 500) {
		var filter types.PropertyFilterSpec
		kinds := map[string]bool{}
		for _, one := range some {
			filter.ObjectSet = append(filter.ObjectSet, types.ObjectSpec{Obj: one})
			if !kinds[one.Type] {
				kinds[one.Type] = true
				filter.PropSet = append(filter.PropSet, types.PropertySpec{Type: one.Type, PathSet: properties})
			}
		}
		filter.ReportMissingObjectsInResults = new(true)
		content, err := inventory.Retrieve(ctx, c, filter)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", some[0].Type, err)
		}
		for _, one := range content {
			var objects []T
			if err := mo.LoadObjectContent([]types.ObjectContent{one}, &objects); err != nil {
				return nil, fmt.Errorf("vcenter %q: read %s: %w", c.VCenter.Name, one.Obj, err)
			}
			if len(objects) == 1 {
				all[one.Obj] = objects[0]
			}
		}
	}
	return all, nil
}
