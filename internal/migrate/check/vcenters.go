package check

import (
	"context"
	"slices"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
)

// seen is what a vCenter has shown.
type seen struct {
	name string
	api  string // version of its API
	vms  []inventory.VM
	tree inventory.Tree
	// datastores are those that a volume or a class names.
	datastores []datastore
}

// datastore is one of those.
type datastore struct {
	ref       types.ManagedObjectReference
	name, url string
	// datacenter is its inventory path.
	datacenter string
	browser    types.ManagedObjectReference
}

// inspect takes what doctor has read, and asks what it did not.
func (c *run) inspect(ctx context.Context, conn *vcenter.Connection, inv *inventory.Inventory) {
	s := &seen{name: conn.VCenter.Name, vms: slices.Clone(inv.VMs), tree: inv.Tree}
	c.vcenters = append(c.vcenters, s)
	_ = conn.Do(ctx, func(_ context.Context, vim *vim25.Client) error { // it has just been let in: there is an answer
		s.api = vim.ServiceContent.About.ApiVersion
		return nil
	})
	wanted := c.wantedDatastores()
	var refs []types.ManagedObjectReference
	for ref, o := range inv.Tree {
		if ref.Type == "Datastore" && wanted[o.Name] {
			refs = append(refs, ref)
		}
	}
	if len(refs) > 0 {
		c.in.OnStep("vcenter " + s.name + ": disks of volumes")
		if err := s.readDatastores(ctx, conn, refs); err != nil {
			c.unsearched(s, refs, err)
		}
		c.findDisks(ctx, conn, s)
	}
	one := VCenter{Name: s.name, Server: conn.VCenter.Address(), Datastores: map[string]string{}}
	for _, d := range s.datastores {
		one.Datastores[d.name] = d.url
	}
	c.report.VCenters = append(c.report.VCenters, one)
}

// readDatastores reads where datastores are, and who can search them.
func (s *seen) readDatastores(ctx context.Context, conn *vcenter.Connection, refs []types.ManagedObjectReference) error {
	filter := types.PropertyFilterSpec{
		PropSet:                       []types.PropertySpec{{Type: "Datastore", PathSet: []string{"name", "summary.url", "browser"}}},
		ReportMissingObjectsInResults: new(true), // one may go meanwhile
	}
	for _, ref := range refs {
		filter.ObjectSet = append(filter.ObjectSet, types.ObjectSpec{Obj: ref})
	}
	content, err := inventory.Retrieve(ctx, conn, filter)
	if err != nil {
		return err
	}
	var all []mo.Datastore
	if err := mo.LoadObjectContent(content, &all); err != nil {
		return err
	}
	for _, d := range all {
		one := datastore{ref: d.Self, name: d.Name, url: d.Summary.Url, browser: d.Browser}
		if dc := s.tree.Above(d.Self, "Datacenter"); dc != nil {
			one.datacenter = s.tree.Path(dc.Ref)
		}
		s.datastores = append(s.datastores, one)
	}
	slices.SortFunc(s.datastores, func(a, b datastore) int {
		return slices.Compare([]string{a.name, a.datacenter}, []string{b.name, b.datacenter})
	})
	return nil
}

// wantedDatastores are those that volumes and classes name.
func (c *run) wantedDatastores() map[string]bool {
	wanted := map[string]bool{}
	for _, v := range c.report.Volumes {
		wanted[v.Datastore] = true
	}
	for _, k := range c.report.Classes {
		wanted[k.datastore()] = true
	}
	for _, name := range c.in.Datastores {
		wanted[name] = true
	}
	delete(wanted, "")
	return wanted
}
