package topology

import (
	"iter"
	"net/netip"
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

// Nodes returns the VMs that are to be Kubernetes nodes, in the order of the file; none is fine. No two have the same
// hostname: where the topology allows that (DuplicateHostname), the first VM of a name is the node, and the others only
// look like it.
func (t *Topology) Nodes() []VMRef {
	var nodes []VMRef
	var names map[string]bool
	if t.Spec.Allows(DuplicateHostname) {
		names = map[string]bool{}
	}
	for ref := range t.AllVMs() {
		if !ref.VM.IsNode() || names[ref.VM.Hostname] {
			continue
		}
		if names != nil {
			names[ref.VM.Hostname] = true
		}
		nodes = append(nodes, ref)
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

// AllNetworks runs over the networks of a datacenter: the standard ones, then the port groups, each with its switch.
func (d *Datacenter) AllNetworks() iter.Seq2[*Switch, *Network] {
	return func(yield func(*Switch, *Network) bool) {
		for i := range d.Networks {
			if !yield(nil, &d.Networks[i]) {
				return
			}
		}
		for i := range d.Switches {
			for j := range d.Switches[i].PortGroups {
				if !yield(&d.Switches[i], &d.Switches[i].PortGroups[j].Network) {
					return
				}
			}
		}
	}
}

// Network finds a network of the datacenter by name, with its switch if it is a port group. Without one of that name,
// both are nil.
func (d *Datacenter) Network(name string) (*Switch, *Network) {
	for sw, network := range d.AllNetworks() {
		if network.Name == name {
			return sw, network
		}
	}
	return nil, nil
}

// Gateway is the gateway of a network that has a CIDR, the first address after the network's own; else it is not valid.
func (n *Network) Gateway() netip.Addr {
	prefix, err := parseSubnet(n.CIDR)
	if err != nil {
		return netip.Addr{}
	}
	return gatewayOf(prefix)
}

// MountedBy tells whether a host mounts the datastore, given the names of both it and its compute cluster (empty for a
// standalone host); all are of one datacenter.
func (d *Datastore) MountedBy(cluster, host string) bool {
	return isMember(d.Hosts, d.Clusters, cluster, host)
}

// Has tells whether a host is on the switch, given as to [Datastore.MountedBy].
func (s *Switch) Has(cluster, host string) bool { return isMember(s.Hosts, s.Clusters, cluster, host) }

func isMember(hosts, clusters []string, cluster, host string) bool {
	return len(hosts)+len(clusters) == 0 || slices.Contains(hosts, host) ||
		cluster != "" && slices.Contains(clusters, cluster)
}

// Administrator is the name of the account that every vCenter has.
func (v *VCenter) Administrator() string { return "administrator@" + v.Name + ".local" }
