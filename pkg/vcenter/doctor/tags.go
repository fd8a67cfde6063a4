package doctor

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
)

// tags checks that the categories are there and that every VM has a region and a zone.
func (l *list) tags(ctx context.Context, c *vcenter.Connection, inv *inventory.Inventory, categories inventory.Categories) {
	there := map[string]bool{}
	err := c.DoREST(ctx, func(ctx context.Context, rc *rest.Client) error {
		all, err := tags.NewManager(rc).GetCategories(ctx)
		for _, category := range all {
			there[category.Name] = true
		}
		return err
	})
	if err != nil {
		l.add(Error, "tag-categories", err.Error(), "no node gets a region and a zone", "check that the account may log in to the REST API")
		return
	}
	found := true
	for _, name := range []string{categories.Region, categories.Zone} {
		if !there[name] {
			found = false
			l.add(Error, "tag-categories", fmt.Sprintf("there is no tag category %q that the account may see", name),
				"no node gets a region and a zone", "make it with tags on datacenters, clusters or hosts, or name the right one in labels:")
		}
	}
	if !found {
		return
	}
	l.ok("tag-categories", "%s and %s are there", categories.Region, categories.Zone)
	l.each("zones", Warning, inv.VMs, func(vm inventory.VM) bool { return !vm.Template && vm.Zone == "" },
		"have no region and zone", "their nodes get no topology labels, and volumes with a topology cannot be put near them",
		"attach a tag of each category to their host, or to something around it")
}
