package migrate

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate/roles"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/privilege"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
)

// sites are the objects of a vCenter that roles are granted on.
func (o *rolesOptions) sites(inv *inventory.Inventory, s inventory.Selection, categories inventory.Categories) (roles.Sites, error) {
	tree := inv.Tree
	at := func(o *inventory.Object) roles.Object {
		return roles.Object{Ref: o.Ref, Path: cmp.Or(tree.Path(o.Ref), "/")}
	}
	datacenters := map[*inventory.Object]bool{}
	for _, vm := range inv.VMs {
		if dc := tree.Above(vm.Ref, "Datacenter"); dc != nil {
			datacenters[dc] = true
		}
	}
	sites := roles.Sites{privilege.Above: nil, privilege.Machines: nil, privilege.Datastore: nil, privilege.Cluster: nil}
	wanted := func(o *inventory.Object) bool {
		return len(datacenters) == 0 || datacenters[tree.Above(o.Ref, "Datacenter")]
	}
	for _, object := range tree {
		switch kind := object.Ref.Type; {
		case kind == "Folder" && object.Parent.Value == "":
			sites[privilege.Root] = []roles.Object{at(object)}
		case !wanted(object):
		case kind == "Datacenter":
			sites[privilege.Datacenter] = append(sites[privilege.Datacenter], at(object))
			for _, above := range tree.Up(object.Ref)[1:] {
				if tagged(above, categories) && !slices.Contains(sites[privilege.Above], at(above)) {
					sites[privilege.Above] = append(sites[privilege.Above], at(above))
				}
			}
		case kind == "Datastore" && o.forVolumes(object, tree):
			sites[privilege.Datastore] = append(sites[privilege.Datastore], at(object))
		case kind == "ClusterComputeResource":
			sites[privilege.Cluster] = append(sites[privilege.Cluster], at(object))
		case kind == "Folder" && nodesIn(object, s, tree):
			sites[privilege.Machines] = append(sites[privilege.Machines], at(object))
		}
	}
	if len(s.Tags)+len(s.Names)+len(s.Pools) > 0 { // VMs of a folder have nothing in common then
		sites[privilege.Machines] = nil
		for _, vm := range inv.VMs {
			sites[privilege.Machines] = append(sites[privilege.Machines], roles.Object{Ref: vm.Ref, Path: vm.Path})
		}
	}
	for _, objects := range sites {
		slices.SortFunc(objects, func(a, b roles.Object) int {
			return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Ref.Value, b.Ref.Value))
		})
	}
	return sites, o.unknown(sites[privilege.Datastore])
}

// tagged tells whether an object has a tag of a region or zone.
func tagged(o *inventory.Object, c inventory.Categories) bool {
	return slices.ContainsFunc(o.Tags, func(t inventory.Tag) bool { return t.Category == c.Region || t.Category == c.Zone })
}

// nodesIn tells whether a folder is one that nodes are in: one that was named, or that of all VMs of a datacenter.
func nodesIn(o *inventory.Object, s inventory.Selection, tree inventory.Tree) bool {
	up := tree.Up(o.Ref)
	for i, one := range up {
		if one.Ref.Type != "Datacenter" {
			continue
		}
		if i == 0 || up[i-1].Name != "vm" {
			return false
		}
		if len(s.Folders) == 0 {
			return i == 1
		}
		return slices.ContainsFunc(s.Folders, func(folder string) bool {
			folder = strings.TrimSuffix(folder, "/")
			return folder == tree.Path(o.Ref) || strings.Trim(folder, "/") == tree.Folder(o.Ref) && i > 1
		})
	}
	return false
}

// forVolumes tells whether a datastore is for volumes.
func (o *rolesOptions) forVolumes(d *inventory.Object, tree inventory.Tree) bool {
	return len(o.datastores) == 0 || slices.Contains(o.datastores, d.Name) || slices.Contains(o.datastores, tree.Path(d.Ref))
}

// unknown is the error for a datastore that is not there.
func (o *rolesOptions) unknown(found []roles.Object) error {
	for _, name := range o.datastores {
		if !slices.ContainsFunc(found, func(d roles.Object) bool { return d.Path == name || path.Base(d.Path) == name }) {
			return report.UsageError("vsphere-sandbox migrate roles --vcenter-config …, which lists those that the account sees",
				"--datastore: no datacenter with such VMs has a datastore %s", fmt.Sprintf("%q", name))
		}
	}
	return nil
}
