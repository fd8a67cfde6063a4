package topology

import (
	"iter"
	"slices"
)

// VMRef is a VM together with what it lies in. The pointers lead into the topology and must not be written through.
type VMRef struct {
	VCenter    *VCenter
	Datacenter *Datacenter
	VM         *VM
}

// InventoryPath is the VM's path in its vCenter, as govc and the finder take it: /americas/dc/vm/folder/name.
func (r VMRef) InventoryPath() string {
	return r.Datacenter.InventoryPath() + "/vm/" + join(r.VM.Folder, r.VM.Name)
}

// InventoryPath is the datacenter's path in its vCenter: /americas/dc.
func (d *Datacenter) InventoryPath() string { return "/" + join(d.Folder, d.Name) }

// AllVMs runs over the VMs of all vCenters in the order of the file.
func (t *Topology) AllVMs() iter.Seq[VMRef] {
	return func(yield func(VMRef) bool) {
		for i := range t.Spec.VCenters {
			vcenter := &t.Spec.VCenters[i]
			for j := range vcenter.Datacenters {
				dc := &vcenter.Datacenters[j]
				for k := range dc.VMs {
					if !yield(VMRef{vcenter, dc, &dc.VMs[k]}) {
						return
					}
				}
			}
		}
	}
}

// Nodes returns the VMs that are to be Kubernetes nodes, in the order of the file; none is fine.
func (t *Topology) Nodes() []VMRef {
	var nodes []VMRef
	for ref := range t.AllVMs() {
		if ref.VM.IsNode() {
			nodes = append(nodes, ref)
		}
	}
	return nodes
}

// AllHosts runs over the hosts of a datacenter: those of compute clusters first, each with its cluster, then the
// standalone ones with nil.
func (d *Datacenter) AllHosts() iter.Seq2[*Cluster, *Host] {
	return func(yield func(*Cluster, *Host) bool) {
		for i := range d.Clusters {
			for j := range d.Clusters[i].Hosts {
				if !yield(&d.Clusters[i], &d.Clusters[i].Hosts[j]) {
					return
				}
			}
		}
		for i := range d.Hosts {
			if !yield(nil, &d.Hosts[i]) {
				return
			}
		}
	}
}

// Host finds a host of the datacenter by name, with its compute cluster (nil for a standalone one). Without one of that
// name, both are nil.
func (d *Datacenter) Host(name string) (*Cluster, *Host) {
	for cluster, host := range d.AllHosts() {
		if host.Name == name {
			return cluster, host
		}
	}
	return nil, nil
}

// MountedBy tells whether the host of that name, one of the datastore's datacenter, mounts it.
func (d *Datastore) MountedBy(host string) bool {
	return len(d.Hosts) == 0 || slices.Contains(d.Hosts, host)
}
