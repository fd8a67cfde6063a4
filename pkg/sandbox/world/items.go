package world

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

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

// VM returns a VM by reference; false when it does not exist.
func (i *Inventory) VM(r types.ManagedObjectReference) (VM, bool) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	if i.objects[r] == nil {
		return VM{}, false
	}
	return i.vm(r), true
}

// Datastores lists them by path.
func (i *Inventory) Datastores() []api.Datastore {
	i.mu.RLock()
	defer i.mu.RUnlock()
	var all []api.Datastore
	for _, r := range i.refs(ofType("Datastore")) {
		summary := property[types.DatastoreSummary](i, r, "summary")
		row := api.Datastore{
			Name: property[string](i, r, "name"), VCenter: i.VCenter, Datacenter: i.above(r, "Datacenter"), Path: i.path(r),
			MoRef: r.Value, URL: summary.Url, Type: summary.Type, CapacityBytes: summary.Capacity, FreeBytes: summary.FreeSpace,
			Accessible: summary.Accessible, Maintenance: summary.MaintenanceMode,
		}
		zones := map[string]bool{}
		for _, m := range property[types.ArrayOfDatastoreHostMount](i, r, "host").DatastoreHostMount {
			if mounted := m.MountInfo.Mounted; mounted != nil && !*mounted {
				continue
			}
			row.Hosts = append(row.Hosts, property[string](i, m.Key, "name"))
			if _, zone := i.place(m.Key); zone != "" {
				zones[zone] = true
			}
		}
		slices.Sort(row.Hosts)
		for zone := range zones {
			row.Zones = append(row.Zones, zone)
		}
		slices.Sort(row.Zones)
		all = append(all, row)
	}
	return all
}

// devices is the property that disks are read from.
const devices = "config.hardware.device"

// settings is the property with the advanced settings of a VM.
const settings = "config.extraConfig"

// compact keeps of a property what is wanted of it: of a VM's devices, which are many, its disks; of its settings, whether
// they hide the UUIDs of disks.
func compact(name string, value any) any {
	switch name {
	case devices:
	case settings:
		list, _ := value.(types.ArrayOfOptionValue)
		return hidesUUIDs(list.OptionValue)
	default:
		return value
	}
	list, ok := value.(types.ArrayOfVirtualDevice)
	if !ok {
		return nil
	}
	return Disks(list.VirtualDevice)
}

// hidesUUIDs reports whether disk.EnableUUID is false, so that a guest cannot identify its disks. Keys ignore case; the last one
// counts. A VM without it shows them: topologies need not set it.
func hidesUUIDs(list []types.BaseOptionValue) (hidden bool) {
	for _, o := range list {
		if v := o.GetOptionValue(); strings.EqualFold(v.Key, "disk.EnableUUID") {
			text := fmt.Sprint(v.Value)
			hidden = strings.EqualFold(text, "false") || text == "0"
		}
	}
	return hidden
}

// Disks lists the disks among the devices of a VM by their place.
func Disks(list []types.BaseVirtualDevice) []api.Disk {
	bus := map[int32]int{}
	for _, d := range list {
		if c, ok := d.(types.BaseVirtualController); ok {
			bus[d.GetVirtualDevice().Key] = int(c.GetVirtualController().BusNumber)
		}
	}
	var all []api.Disk
	for _, d := range list {
		disk, ok := d.(*types.VirtualDisk)
		if !ok {
			continue
		}
		row := api.Disk{Bytes: cmp.Or(disk.CapacityInBytes, disk.CapacityInKB<<10), Controller: bus[disk.ControllerKey]}
		if disk.UnitNumber != nil {
			row.Unit = int(*disk.UnitNumber)
		}
		if disk.VDiskId != nil {
			row.Volume = disk.VDiskId.Id
		}
		if b, ok := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo); ok {
			row.UUID, row.File = b.Uuid, b.FileName
		}
		all = append(all, row)
	}
	slices.SortFunc(all, func(a, b api.Disk) int {
		return cmp.Or(cmp.Compare(a.Controller, b.Controller), cmp.Compare(a.Unit, b.Unit))
	})
	return all
}
