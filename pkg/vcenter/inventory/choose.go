package inventory

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/glob"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/absent"
)

// Absent is a path of the selection that the vCenter does not have.
type Absent struct {
	// What is the path with its type. Err says that it is missing, with the most similar path.
	What string
	Err  error
}

// CheckAbsent returns an error for each path of a selection that no vCenter has; all has the inventories of all vCenters. One
// selection is for all vCenters, and /west/vm/k8s is in one of them.
func CheckAbsent(all ...*Inventory) error {
	lack := map[string]int{}
	for _, inv := range all {
		for _, a := range inv.Absent {
			lack[a.What]++
		}
	}
	var errs []error
	for _, inv := range all {
		for _, a := range inv.Absent {
			if lack[a.What] == len(all) {
				errs = append(errs, a.Err)
			}
		}
	}
	return errors.Join(errs...)
}

// choose keeps the selected VMs, ignoring tags. The vCenter's configured datacenters must exist.
func (inv *Inventory) choose(vcenter string, s Selection, datacenters []string) error {
	all := inv.paths()
	var errs []error
	for _, name := range absent.Find(absent.Wanted{Datacenters: datacenters}, absent.Present{Datacenters: inv.places()}) {
		errs = append(errs, fmt.Errorf("vcenter %q: %s, or this account may not see it", vcenter, name))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, lacking := range [][]Absent{
		missing("datacenter", s.Datacenters, all.datacenters), missing("folder", s.Folders, all.folders), missing("resource pool", s.Pools, all.pools),
	} {
		for _, a := range lacking {
			a.Err = fmt.Errorf("vcenter %q: %w", vcenter, a.Err)
			inv.Absent = append(inv.Absent, a)
		}
	}
	inv.VMs = slices.DeleteFunc(inv.VMs, func(vm VM) bool {
		dc, folder, pool := inv.Tree.Above(vm.Ref, "Datacenter"), "", ""
		if dc == nil {
			return true // no datacenter is visible to the account
		}
		if o := inv.Tree[vm.Ref]; o != nil {
			folder = inv.Tree.Path(o.Parent)
		}
		pool = inv.Tree.Path(vm.PoolRef)
		dcPath := inv.Tree.Path(dc.Ref)
		return len(datacenters) > 0 && !slices.ContainsFunc(datacenters, inv.datacenter(dc).Is) || !in(s.Datacenters, dcPath, dc.Name, false) ||
			!in(s.Folders, folder, vm.Folder, true) || !in(s.Pools, pool, vm.Pool, true) || !s.named(vm.Name)
	})
	return nil
}

// places returns the datacenters, as the provider compares them; never nil.
func (inv *Inventory) places() []absent.Place {
	places := []absent.Place{}
	for ref, o := range inv.Tree {
		if ref.Type == "Datacenter" {
			places = append(places, inv.datacenter(o))
		}
	}
	slices.SortFunc(places, func(a, b absent.Place) int { return strings.Compare(a.Path, b.Path) })
	return places
}

func (inv *Inventory) datacenter(o *Object) absent.Place {
	return absent.Place{Ref: o.Ref.String(), Name: o.Name, Path: inv.Tree.Path(o.Ref)}
}

// in reports whether one of the paths matches an object with that inventory path and short path or, with inside, one of its
// ancestors.
func in(paths []string, long, short string, inside bool) bool {
	if len(paths) == 0 {
		return true
	}
	for _, p := range paths {
		own := short
		if strings.HasPrefix(p, "/") {
			own = long
		}
		p = strings.TrimRight(p, "/")
		if own == p || inside && strings.HasPrefix(own, p+"/") {
			return true
		}
	}
	return false
}

// known holds the existing paths, in both forms.
type known struct{ datacenters, folders, pools []string }

func (inv *Inventory) paths() known {
	var k known
	for ref, o := range inv.Tree {
		switch ref.Type {
		case "Datacenter":
			k.datacenters = append(k.datacenters, o.Name, inv.Tree.Path(ref))
		case "Folder":
			if inv.Tree.Above(ref, "Datacenter") != nil {
				k.folders = append(k.folders, inv.Tree.Folder(ref), inv.Tree.Path(ref))
			}
		case "ResourcePool", "VirtualApp":
			k.pools = append(k.pools, inv.Tree.Pool(ref), inv.Tree.Path(ref))
		}
	}
	for _, list := range [][]string{k.datacenters, k.folders, k.pools} {
		slices.Sort(list)
	}
	return k
}

// missing returns the missing ones.
func missing(noun string, wanted, there []string) []Absent {
	var lacking []Absent
	for _, name := range wanted {
		name = strings.TrimRight(name, "/")
		if slices.Contains(there, name) {
			continue
		}
		hint := ""
		if near := nearest.Of(name, there); near != "" {
			hint = fmt.Sprintf(": did you mean %q?", near)
		}
		what := fmt.Sprintf("%s %q", noun, name)
		lacking = append(lacking, Absent{What: what, Err: fmt.Errorf("%s not found, or this account may not see it%s", what, hint)})
	}
	return lacking
}

// warnNames warns about patterns without a VM.
func (inv *Inventory) warnNames(s Selection, all []VM) {
	for _, pattern := range s.Names {
		one := Selection{Names: []string{pattern}}
		if !slices.ContainsFunc(all, func(vm VM) bool { return one.named(vm.Name) }) {
			inv.Warnings = append(inv.Warnings, fmt.Sprintf("name pattern %q: no VM is called so", pattern))
		}
	}
}

// Selection selects the VMs that match each non-empty list. The zero value selects all.
type Selection struct {
	// Datacenters are names, or inventory paths that begin with a slash.
	Datacenters []string
	// Folders are paths below the VM folder of any datacenter ("k8s/prod"), or inventory paths ("/west/vm/k8s"), including
	// subfolders.
	Folders []string
	// Tags are tags of the VM, "category:name" each.
	Tags []string
	// Names are patterns of VM names, with * and ?.
	Names []string
	// Pools are paths below the root pool of any compute resource ("prod/web"), or inventory paths, including their subpools.
	Pools []string
}

// Tag is a tag with its category.
type Tag struct{ Category, Name string }

// String returns "category:name".
func (t Tag) String() string { return t.Category + ":" + t.Name }

// ParseTag parses "category:name". The name may contain colons.
func ParseTag(text string) (Tag, error) {
	category, name, ok := strings.Cut(text, ":")
	if !ok || category == "" || name == "" {
		return Tag{}, fmt.Errorf("tag %q: must be category:name, such as env:prod", text)
	}
	return Tag{category, name}, nil
}

// Check returns all problems of the selection.
func (s Selection) Check() error {
	var errs []error
	for _, text := range s.Tags {
		_, err := ParseTag(text)
		errs = append(errs, err)
	}
	for _, list := range []struct {
		noun  string
		paths []string
	}{{"datacenter", s.Datacenters}, {"folder", s.Folders}, {"resource pool", s.Pools}} {
		for _, text := range list.paths {
			if strings.Trim(text, "/") == "" {
				errs = append(errs, fmt.Errorf("%s %q: is empty", list.noun, text))
			}
		}
	}
	return errors.Join(errs...)
}

// named reports whether a pattern matches the name.
func (s Selection) named(name string) bool {
	return len(s.Names) == 0 || slices.ContainsFunc(s.Names, func(p string) bool { return glob.Match(p, name) })
}

// tagged reports whether one of the selected tags is in tags.
func (s Selection) tagged(tags []Tag) bool {
	if len(s.Tags) == 0 {
		return true
	}
	for _, text := range s.Tags {
		for _, tag := range tags {
			if tag.String() == text {
				return true
			}
		}
	}
	return false
}
