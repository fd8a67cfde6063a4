package inventory

import "github.com/vmware/govmomi/vim25/types"

// place finds the region and zone of every chosen VM as the cloud provider does: each by the nearest tag on the way up
// from the VM's host; where that does not find both, from its resource pool, and then from the VM itself.
func (inv *Inventory) place(c Categories) {
	for i := range inv.VMs {
		vm := &inv.VMs[i]
		for _, start := range []types.ManagedObjectReference{vm.HostRef, vm.PoolRef, vm.Ref} {
			region, zone := inv.nearest(start, c)
			if region != "" && zone != "" {
				vm.Region, vm.Zone = region, zone
				break
			}
		}
	}
}

// nearest goes up from start. Of several tags of a category on one object the first by name counts.
func (inv *Inventory) nearest(start types.ManagedObjectReference, c Categories) (region, zone string) {
	for _, o := range inv.Tree.Up(start) {
		for _, tag := range o.Tags {
			if tag.Category == c.Region && region == "" {
				region = tag.Name
			}
			if tag.Category == c.Zone && zone == "" {
				zone = tag.Name
			}
		}
	}
	return region, zone
}
