package record

import (
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
)

// datastores adds those that recorded hosts of the datacenter mount.
func (r *recorder) datastores(f *found, dc *topology.Datacenter, at *inventory.Object) {
	t := f.inv.Tree
	refs, hosts := map[ref]bool{}, map[ref]bool{}
	for host, h := range f.hosts {
		if o := t.Above(host, "Datacenter"); o == nil || o.Ref != at.Ref {
			continue
		}
		hosts[host] = true
		for _, datastore := range h.Datastore {
			refs[datastore] = true
		}
	}
	for _, o := range inOrder(f, refs) {
		r.unplaced(f, o.Parent, "datastores")
		if o.Parent.Type == "StoragePod" {
			r.warn("datastore %s is recorded without its datastore cluster: a topology has none", r.shown("datastore", o.Name))
		}
		s := f.datastores[o.Ref].Summary
		d := topology.Datastore{
			Name: r.name("datastore", o.Name), Marks: r.marks(o), Type: datastoreType(s.Type),
			Capacity: whole(s.Capacity),
			Used:     whole(min(max(s.Capacity-s.FreeSpace, 0), s.Capacity)), // what is overcommitted is used up
		}
		if d.Type == "" {
			r.warn("datastore %s is of type %q, which is recorded as vmfs", d.Name, s.Type)
		}
		if d.Capacity == 0 {
			d.Used = 0 // one that is not there, and gets the default
		}
		var mounting []string
		for _, host := range inOrder(f, hosts) {
			for _, datastore := range f.hosts[host.Ref].Datastore {
				if datastore == o.Ref {
					mounting = append(mounting, r.dns("host", host.Name))
				}
			}
		}
		if len(mounting) < len(hosts) {
			d.Hosts = mounting
		}
		dc.Datastores = append(dc.Datastores, d)
	}
}

func datastoreType(kind string) topology.DatastoreType {
	switch strings.ToLower(kind) {
	case "vmfs":
		return topology.VMFS
	case "nfs":
		return topology.NFS
	case "nfs41":
		return topology.NFS41
	case "vsan", "vsand":
		return topology.VSAN
	case "vvol":
		return topology.VVOL
	}
	return ""
}
