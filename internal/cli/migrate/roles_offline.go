package migrate

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate/roles"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/privilege"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
)

// offline makes plans for what a file names, or general ones.
func (o *rolesOptions) offline() ([]*roles.Plan, error) {
	if o.conf == "" {
		p, err := o.request("", nil)
		return []*roles.Plan{p}, err
	}
	source, err := readSource(o.streams.In, o.conf)
	if err != nil {
		return nil, err
	}
	cfg, err := meaning(source, o.force)
	if err != nil {
		return nil, &report.Error{
			Code: "cloud-config-invalid", Message: source.Name + " cannot be used\n" + strings.TrimSpace(err.Error()), Exit: report.Usage,
			Try: tryMeaning(o.conf, err),
		}
	}
	place := workspace(source.Name, source.Data)
	var plans []*roles.Plan
	for _, v := range cfg.VCenters {
		sites := roles.Sites{privilege.Root: {{Path: "/"}}}
		for _, dc := range v.Datacenters {
			sites[privilege.Datacenter] = append(sites[privilege.Datacenter], roles.Object{Path: datacenter(dc)})
		}
		if config.SameHost(place.server, v.Server) && place.datacenter != "" {
			place.add(sites)
		}
		p, err := o.request(v.Tenant, sites)
		if err != nil {
			return nil, err
		}
		plans = append(plans, p)
	}
	return plans, nil
}

// datacenter is one as govc takes it: a path, or a reference as it is.
func datacenter(name string) string {
	if isReference(name) {
		return name
	}
	return rooted(name)
}

// isReference is whether a datacenter is named as Datacenter:datacenter-3 is.
func isReference(name string) bool { return strings.HasPrefix(name, "Datacenter:") }

func rooted(path string) string { return "/" + strings.Trim(path, "/") }

// place is where the in-tree provider puts things.
type place struct{ server, datacenter, folder, datastore string }

// workspace reads what says so: [Workspace], or [Global] where vCenters have no sections. What is no INI has none.
func workspace(name string, data []byte) place {
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	if !config.LooksLikeINI(data) {
		return place{}
	}
	var global, own place
	alone := true
	sections, _ := config.ReadINI(name, data)
	for _, s := range sections {
		for _, e := range s.Entries {
			switch strings.ToLower(s.Name + "/" + e.Key) {
			case "workspace/server":
				own.server = e.Value
			case "workspace/datacenter":
				own.datacenter = e.Value
			case "workspace/folder":
				own.folder = e.Value
			case "workspace/default-datastore":
				own.datastore = e.Value
			case "global/server":
				global.server = e.Value
			case "global/datacenter":
				global.datacenter = e.Value
			case "global/working-dir":
				global.folder = e.Value
			case "global/datastore":
				global.datastore = e.Value
			}
		}
		alone = alone && !strings.EqualFold(s.Name, "VirtualCenter")
	}
	if alone {
		return global
	}
	return own
}

// add adds the folder of the nodes and the datastore of the volumes. What is in a datacenter that is a reference has no path.
func (p place) add(sites roles.Sites) {
	dc, named := rooted(p.datacenter), !isReference(p.datacenter)
	switch {
	case strings.HasPrefix(p.folder, "/"):
		sites[privilege.VMs] = []roles.Object{{Path: p.folder}}
	case p.folder != "" && named:
		sites[privilege.VMs] = []roles.Object{{Path: dc + "/vm/" + p.folder}}
	}
	switch {
	case strings.HasPrefix(p.datastore, "/"):
		sites[privilege.Datastore] = []roles.Object{{Path: p.datastore}}
	case p.datastore != "" && named:
		sites[privilege.Datastore] = []roles.Object{{Path: dc + "/datastore/" + p.datastore}}
	}
}

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
	sites := roles.Sites{privilege.Above: nil, privilege.VMs: nil, privilege.Datastore: nil, privilege.Cluster: nil}
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
			sites[privilege.VMs] = append(sites[privilege.VMs], at(object))
		}
	}
	if len(s.Tags)+len(s.Names)+len(s.Pools) > 0 { // VMs of a folder have nothing in common then
		sites[privilege.VMs] = nil
		for _, vm := range inv.VMs {
			sites[privilege.VMs] = append(sites[privilege.VMs], roles.Object{Ref: vm.Ref, Path: vm.Path})
		}
	}
	for _, objects := range sites {
		slices.SortFunc(objects, func(a, b roles.Object) int {
			return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Ref.Value, b.Ref.Value))
		})
	}
	return sites, o.unknown(sites[privilege.Datastore])
}

// tagged reports whether an object has a tag of a region or zone.
func tagged(o *inventory.Object, c inventory.Categories) bool {
	return slices.ContainsFunc(o.Tags, func(t inventory.Tag) bool { return t.Category == c.Region || t.Category == c.Zone })
}

// nodesIn reports whether a folder holds nodes: one that was named, or that of all VMs of a datacenter.
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

// forVolumes reports whether a datastore is for volumes.
func (o *rolesOptions) forVolumes(d *inventory.Object, tree inventory.Tree) bool {
	return len(o.datastores) == 0 || slices.Contains(o.datastores, d.Name) || slices.Contains(o.datastores, tree.Path(d.Ref))
}

// unknown returns the error for a datastore that does not exist.
func (o *rolesOptions) unknown(found []roles.Object) error {
	for _, name := range o.datastores {
		if !slices.ContainsFunc(found, func(d roles.Object) bool { return d.Path == name || path.Base(d.Path) == name }) {
			return report.UsageError("vsphere-sandbox migrate roles --vcenter-config …, which lists those that the account sees",
				"--datastore: no datacenter with such VMs has a datastore %s", fmt.Sprintf("%q", name))
		}
	}
	return nil
}
