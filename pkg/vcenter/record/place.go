package record

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
)

// vcenter adds a vCenter with its folders and datacenters.
func (r *recorder) vcenter(f *found) {
	name := label(f.name)
	if r.pseudonyms != nil {
		name = r.pseudonyms.Name("vcenter", f.name)
	}
	first := name
	for n := 2; slices.ContainsFunc(r.top.Spec.VCenters, func(v topology.VCenter) bool { return v.Name == name }); n++ {
		name = first + "-" + strconv.Itoa(n)
	}
	v := topology.VCenter{Name: name, Version: release(f.about.Version), InstanceUUID: r.uuid(f.about.InstanceUuid)}
	if v.Version != f.about.Version {
		r.warn("vCenter %s says it is %q, which is recorded as version %q", name, f.about.Version, cmp.Or(v.Version, "the default"))
	}
	for _, dc := range inOrder(f, datacentersOf(f)) {
		r.datacenter(f, &v, dc)
	}
	for _, o := range f.inv.Tree {
		if o.Parent.Value == "" && o.Ref.Type == "Folder" {
			v.Marks = r.marks(o)
		}
	}
	r.top.Spec.VCenters = append(r.top.Spec.VCenters, v)
}

// datacentersOf are those of the chosen VMs.
func datacentersOf(f *found) map[ref]bool {
	all := map[ref]bool{}
	for _, vm := range f.inv.VMs {
		if dc := f.inv.Tree.Above(vm.Ref, "Datacenter"); dc != nil {
			all[dc.Ref] = true
		}
	}
	return all
}

// inOrder are objects by path.
func inOrder(f *found, all map[ref]bool) []*inventory.Object {
	var list []*inventory.Object
	for one := range maps.Keys(all) {
		if o := f.inv.Tree[one]; o != nil {
			list = append(list, o)
		}
	}
	slices.SortFunc(list, func(a, b *inventory.Object) int {
		return cmp.Or(cmp.Compare(f.inv.Tree.Path(a.Ref), f.inv.Tree.Path(b.Ref)), cmp.Compare(a.Ref.Value, b.Ref.Value))
	})
	return list
}

// datacenter adds a datacenter, with the folders around it.
func (r *recorder) datacenter(f *found, v *topology.VCenter, o *inventory.Object) {
	t := f.inv.Tree
	dc := topology.Datacenter{Name: r.name("datacenter", o.Name), Marks: r.marks(o)}
	for n := 2; slices.ContainsFunc(v.Datacenters, func(other topology.Datacenter) bool { return other.Name == dc.Name }); n++ {
		r.warn("datacenter %s is recorded with a number: another one is called so, and a topology tells them apart by name", dc.Name)
		dc.Name += "-" + strconv.Itoa(n)
	}
	dc.Folder = r.path("folder", strings.Trim(strings.TrimSuffix(t.Path(o.Ref), o.Name), "/"))
	for _, around := range t.Up(o.Parent) {
		if around.Parent.Value != "" {
			v.Folders = addFolder(v.Folders, r.path("folder", strings.Trim(t.Path(around.Ref), "/")), r.marks(around))
		}
	}
	r.computes(f, &dc, o)
	r.datastores(f, &dc, o)
	for _, vm := range f.inv.VMs {
		if at := t.Above(vm.Ref, "Datacenter"); at != nil && at.Ref == o.Ref {
			r.machine(f, &dc, vm)
		}
	}
	v.Datacenters = append(v.Datacenters, dc)
}

// addFolder lists a folder that carries something.
func addFolder(all []topology.Folder, path string, marks topology.Marks) []topology.Folder {
	known := slices.ContainsFunc(all, func(f topology.Folder) bool { return f.Path == path })
	if known || path == "" || len(marks.Tags) == 0 {
		return all
	}
	return append(all, topology.Folder{Path: path, Marks: marks})
}

// release is a version in three parts.
func release(version string) string {
	parts := strings.Split(version, ".")
	for len(parts) < 3 {
		parts = append(parts, "0")
	}
	return strings.Join(parts[:3], ".")
}
