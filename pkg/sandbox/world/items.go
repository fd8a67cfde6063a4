package world

import "github.com/vmware/govmomi/vim25/types"

// Item is an object of a vCenter with the names of what it is in, as far as choosing among such objects goes.
type Item struct {
	Name, Path string
	Ref        types.ManagedObjectReference
	// Datacenter, Cluster and Host are itself, for one that is such a thing.
	Datacenter, Cluster, Host string
	// Region and Zone are by nearest tag.
	Region, Zone string
}

// Items lists the objects of a type (Datastore) by path. VMs are in [Inventory.VMs].
func (i *Inventory) Items(kind string) []Item {
	i.mu.RLock()
	defer i.mu.RUnlock()
	var items []Item
	for _, r := range i.refs(ofType(kind)) {
		item := Item{
			Name: property[string](i, r, "name"), Path: i.path(r), Ref: r,
			Datacenter: i.above(r, "Datacenter"), Cluster: i.above(r, "ClusterComputeResource"), Host: i.above(r, "HostSystem"),
		}
		item.Region, item.Zone = i.place(r)
		items = append(items, item)
	}
	return items
}

// Count says how many datacenters, hosts and VMs there are.
func (i *Inventory) Count() (datacenters, hosts, vms int) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	for r := range i.objects {
		switch r.Type {
		case "Datacenter":
			datacenters++
		case "HostSystem":
			hosts++
		case "VirtualMachine":
			vms++
		}
	}
	return datacenters, hosts, vms
}

// VM returns one VM; false when there is none of that reference.
func (i *Inventory) VM(r types.ManagedObjectReference) (VM, bool) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	if i.objects[r] == nil {
		return VM{}, false
	}
	return i.vm(r), true
}
