package record

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
)

// rounds is the number of validations of the recorded topology: an error may hide another.
const rounds = 4

// finish writes the topology without the fields that it rejects, with a warning for each.
func (r *recorder) finish() (*Recording, error) {
	for range rounds {
		file, err := topology.Marshal(r.top)
		if err != nil {
			return nil, err
		}
		loaded, err := topology.Load("recording", file)
		if err == nil {
			r.compare(loaded)
			return &Recording{File: file, Topology: loaded, Warnings: r.warnings}, nil
		}
		if !r.relent(err) {
			return nil, fmt.Errorf("record: %w", err)
		}
		r.top.Spec.AllowDuplicate = duplicates(r.top)
	}
	return nil, errors.New("record: the topology takes less and less of what is recorded")
}

// leaf matches an optional field in messages.
var leaf = regexp.MustCompile(`^spec\.vcenters\[(\d+)\]\.(?:datacenters\[(\d+)\]\.vms\[(\d+)\]\.)?(\w+)(?:\[(\d+)\]\.(\w+))?`)

// relent removes the rejected fields. It returns false if one is mandatory.
func (r *recorder) relent(err error) bool {
	var all topology.Errors
	if !errors.As(err, &all) {
		return false
	}
	dropped := false
	for _, e := range all {
		m := leaf.FindStringSubmatch(e.Path)
		if m == nil {
			return false
		}
		v := &r.top.Spec.VCenters[number(m[1])]
		what := "vCenter " + v.Name
		var ok bool
		if m[3] == "" {
			ok = dropOfVCenter(v, m[4])
		} else {
			vm := &v.Datacenters[number(m[2])].VMs[number(m[3])]
			what = "VM " + vm.Name
			ok = dropOfVM(vm, m[4], m[5], m[6])
		}
		if !ok {
			return false
		}
		dropped = true
		r.warn("%s: %s is left out: it %s", what, m[4], e.Message)
	}
	return dropped
}

func dropOfVCenter(v *topology.VCenter, field string) bool {
	switch field {
	case "version":
		v.Version = ""
	case "instanceUUID":
		v.InstanceUUID = ""
	default:
		return false
	}
	return true
}

func dropOfVM(vm *topology.VM, field, item, inner string) bool {
	switch {
	case field == "hardwareVersion":
		vm.HardwareVersion = ""
	case field == "guestID":
		vm.GuestID = ""
	case field == "hostname":
		vm.Hostname, vm.Role = "", "" // a VM without a valid name cannot be a node
	case field == "uuid":
		vm.UUID = ""
	case field == "instanceUUID":
		vm.InstanceUUID = ""
	case field == "cpus":
		vm.CPUs = 0
	case field == "memory":
		vm.Memory = 0
	case field == "nics" && item != "" && inner == "mac":
		vm.NICs[number(item)].MAC = ""
	case field == "nics" && item != "" && inner == "addresses":
		vm.NICs[number(item)].Addresses = nil
	default:
		return false
	}
	return true
}

// number parses digits.
func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

// compare warns about VMs whose region or zone differs between the recording and the vCenter.
func (r *recorder) compare(loaded *topology.Topology) {
	i := 0
	for vm := range loaded.AllVMs() {
		if i < len(r.zones) {
			got, want := loaded.Place(vm), r.zones[i]
			if want != (topology.Place{}) && got != want {
				r.warn("VM %s is in %s/%s, and in %s/%s in the recording: the tags are where a topology has none",
					vm.VM.Name, want.Region, want.Zone, got.Region, got.Zone)
			}
		}
		i++
	}
}

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

// datacentersOf returns those of the selected VMs.
func datacentersOf(f *found) map[ref]bool {
	all := map[ref]bool{}
	for _, vm := range f.inv.VMs {
		if dc := f.inv.Tree.Above(vm.Ref, "Datacenter"); dc != nil {
			all[dc.Ref] = true
		}
	}
	return all
}

// inOrder sorts objects by path.
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

// datacenter adds a datacenter, with its parent folders.
func (r *recorder) datacenter(f *found, v *topology.VCenter, o *inventory.Object) {
	t := f.inv.Tree
	dc := topology.Datacenter{Name: r.name("datacenter", o.Name), Marks: r.marks(o)}
	for n := 2; slices.ContainsFunc(v.Datacenters, func(other topology.Datacenter) bool { return other.Name == dc.Name }); n++ {
		r.warn("datacenter %s is recorded with a number, because another one has the same name and a topology identifies them by name", dc.Name)
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
			r.vm(f, &dc, vm)
		}
	}
	v.Datacenters = append(v.Datacenters, dc)
}

// addFolder adds a folder with tags.
func addFolder(all []topology.Folder, path string, marks topology.Marks) []topology.Folder {
	known := slices.ContainsFunc(all, func(f topology.Folder) bool { return f.Path == path })
	if known || path == "" || len(marks.Tags) == 0 {
		return all
	}
	return append(all, topology.Folder{Path: path, Marks: marks})
}

// release returns a version with three parts.
func release(version string) string {
	parts := strings.Split(version, ".")
	for len(parts) < 3 {
		parts = append(parts, "0")
	}
	return strings.Join(parts[:3], ".")
}
