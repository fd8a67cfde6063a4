package world

import (
	"slices"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

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
