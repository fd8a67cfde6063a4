package topology

import (
	"slices"
	"strconv"
)

// What the datastores of a datacenter are that names none.
const (
	// zoneCapacity is that of a zone's own. It is twice that of the shared one, so that whoever looks for the most free
	// space, as vSphere does, finds a zone's own first.
	zoneCapacity = 2 * defaultCapacity
	// maxDefaultZones is from how many zones on there is none for each: hosts that are a zone each need not mount many.
	maxDefaultZones = 100
)

// defaultDatastores are one that all hosts mount, which comes first and has the disks of VMs, and one for each zone, where
// there is more than one. In a datacenter that is one zone, or in none, the first is all: it is the zone's own already.
func (t *Topology) defaultDatastores(vcenter *VCenter, dc *Datacenter) []Datastore {
	names := map[string]bool{}
	list := []Datastore{{Name: unused(names, dc.Name+"-ds", "datastore1")}}
	zones, hosts := t.hostsByZone(vcenter, dc)
	if len(hosts) < 2 || len(zones) > maxDefaultZones {
		return list
	}
	for i, zone := range zones {
		store := Datastore{Capacity: zoneCapacity}
		store.Name = unused(names, zone+"-ds", zone+"-zone-ds", "datastore"+strconv.Itoa(i+2))
		store.Clusters, store.Hosts = dc.members(hosts[zone])
		list = append(list, store)
	}
	return list
}

// unused is the first of the names that a datastore can have and that none has yet. The last one is taken as it is.
func unused(taken map[string]bool, names ...string) string {
	for i, name := range names {
		complaint, _ := inventoryName(name)
		if i == len(names)-1 || complaint == "" && !taken[name] {
			taken[name] = true
			return name
		}
	}
	return ""
}

// hostsByZone returns the zones of the datacenter's hosts in the order of the file, and the hosts of each, by name; those
// of no zone are the hosts of "".
func (t *Topology) hostsByZone(vcenter *VCenter, dc *Datacenter) (zones []string, hosts map[string][]string) {
	hosts = map[string][]string{}
	for cluster, host := range dc.AllHosts() {
		if host.Name == "" || cluster != nil && cluster.Name == "" {
			continue // reported elsewhere
		}
		zone := t.placeOf(vcenter, dc, cluster, host).Zone
		if zone != "" && hosts[zone] == nil {
			zones = append(zones, zone)
		}
		hosts[zone] = append(hosts[zone], host.Name)
	}
	return zones, hosts
}

// members says which hosts are meant in the fewest words: compute clusters that are among them as a whole, and the rest.
func (d *Datacenter) members(hosts []string) (clusters, rest []string) {
	among := make(map[string]bool, len(hosts))
	for _, name := range hosts {
		among[name] = true
	}
	for i := range d.Clusters {
		cluster := &d.Clusters[i]
		if len(cluster.Hosts) == 0 || slices.ContainsFunc(cluster.Hosts, func(h Host) bool { return !among[h.Name] }) {
			continue
		}
		clusters = append(clusters, cluster.Name)
		for _, h := range cluster.Hosts {
			delete(among, h.Name)
		}
	}
	for _, name := range hosts {
		if among[name] {
			rest = append(rest, name)
			delete(among, name)
		}
	}
	return clusters, rest
}
