package topology

import (
	"iter"
	"net/netip"
	"slices"
)

// VM is a virtual machine.
type VM struct {
	// Name is the inventory name, unique in its folder; {n} as in [Host]. So may Hostname, Cluster, Host, Pool, Folder,
	// Datastore, the names of tags, and the networks and addresses of NICs hold it.
	Name string `json:"name"`
	// Replicas makes that many VMs of one entry; zero in a resolved topology.
	Replicas int `json:"replicas,omitempty"`
	Marks    `json:",inline"`
	// Spread says over what VMs go in turn, where neither Cluster nor Host decides it: the hosts of the datacenter's
	// compute resources or its clusters (one cluster's hosts in turn, then). Default: none. Empty in a resolved topology.
	Spread Spread `json:"spread,omitempty"`
	// Cluster places it on the cluster's hosts, VMs in turn; Host names one host and may hold {n}. One of the two is
	// needed where the datacenter has more than one compute resource. A resolved VM has its Host always, its Cluster
	// where the host is in one.
	Cluster string `json:"cluster,omitempty"`
	Host    string `json:"host,omitempty"`
	// Pool is the path of a resource pool or vApp below the compute resource's own ("prod/web"); empty means that one.
	Pool string `json:"pool,omitempty"`
	// Folder is a path below the datacenter's VM folder; empty means that folder itself.
	Folder string `json:"folder,omitempty"`
	// Datastore defaults to the first one that the VM's host mounts.
	Datastore string `json:"datastore,omitempty"`
	// CPUs defaults to 2, Memory (whole Mi) to 4Gi, GuestID to ubuntu64Guest.
	CPUs    int32  `json:"cpus,omitempty"`
	Memory  Bytes  `json:"memory,omitempty"`
	GuestID string `json:"guestID,omitempty"`
	// Hostname is what the guest reports through its tools, and so the node's name: a DNS name in lower case, unique
	// among nodes unless duplicates are allowed, and {n} as in Name. Default: Name, made a DNS name where the VM is no
	// node.
	Hostname string `json:"hostname,omitempty"`
	// NICs defaults to one on the datacenter's first network.
	NICs []NIC `json:"nics,omitempty"`
	// Template makes it a template, which has no power, no pool and no addresses, and is no node.
	Template Choice `json:"template,omitempty"`
	// HardwareVersion defaults to the newest that hosts of the vCenter's version know ("vmx-21").
	HardwareVersion string `json:"hardwareVersion,omitempty"`
	// ExtraConfig is the VM's advanced configuration (guestinfo.* among it). Keys for which a VM has a field of its own
	// are refused.
	ExtraConfig []KeyValue `json:"extraConfig,omitempty"`
	// GuestInfo, when yes, puts the NICs' addresses into extraConfig as cloud-init's metadata (guestinfo.metadata), as
	// provisioning tools do for static addresses.
	GuestInfo Choice `json:"guestInfo,omitempty"`
	// Snapshots are made in this order, each a child of the one before.
	Snapshots []Snapshot `json:"snapshots,omitempty"`
	// Tools, when no, has a guest without VMware Tools: it reports nothing. Default: yes.
	Tools Choice `json:"tools,omitempty"`
	// Power defaults to on, a template's to off.
	Power Power `json:"power,omitempty"`
	// Role makes the VM a Kubernetes node. Empty: a VM that is none.
	Role Role `json:"role,omitempty"`
	// Nodes is what the VM's node is made of; for VMs with a role. Default: the topology's own.
	Nodes NodeKind `json:"nodes,omitempty"`
	// UUID is the BIOS UUID (config.uuid) and InstanceUUID the vCenter-wide one; derived when absent, lower case.
	UUID         string `json:"uuid,omitempty"`
	InstanceUUID string `json:"instanceUUID,omitempty"`
}

// Spread is over what VMs are spread.
type Spread string

// What VMs can be spread over.
const (
	SpreadHosts    Spread = "hosts"
	SpreadClusters Spread = "clusters"
)

func (Spread) choices() []string { return []string{string(SpreadHosts), string(SpreadClusters)} }

// KeyValue is one setting.
type KeyValue struct {
	Key string `json:"key"`
	// Value is not empty: to vSphere, an empty value removes the key.
	Value string `json:"value" max:"65536"`
}

// Snapshot is a snapshot of a VM.
type Snapshot struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// IsNode reports whether the VM is to be a Kubernetes node.
func (v VM) IsNode() bool { return v.Role != "" }

// IsLight reports whether it is to be a light node.
func (v VM) IsLight() bool { return v.IsNode() && v.Nodes == NodesLight }

// NIC is a network card of a VM.
type NIC struct {
	// Network defaults to the datacenter's first.
	Network string `json:"network,omitempty"`
	// MAC is derived when absent (VMware's manual range 00:50:56:00-3f).
	MAC string `json:"mac,omitempty"`
	// Addresses are IPv4 or IPv6 addresses with prefix length ("198.18.0.10/16"); a bare address has that of the
	// network's CIDR, if it is in there, or else /24 or /64. When absent, one comes from the network's CIDR, or from the
	// benchmarking range 198.18.0.0/15 (RFC 2544). In a group of replicas an address may hold {n}.
	Addresses []string `json:"addresses,omitempty"`
}

// Power is a VM's power state at start.
type Power string

// The power states a topology can ask for.
const (
	PowerOn  Power = "on"
	PowerOff Power = "off"
)

func (Power) choices() []string { return []string{string(PowerOn), string(PowerOff)} }

// Role is what a VM does in the Kubernetes cluster.
type Role string

// The roles of nodes.
const (
	RoleControlPlane Role = "control-plane"
	RoleWorker       Role = "worker"
)

func (Role) choices() []string { return []string{string(RoleControlPlane), string(RoleWorker)} }

// NodeKind is what the node of a VM is made of.
type NodeKind string

// What nodes can be made of.
const (
	// NodesHollow have a kubelet each, in a process of its own.
	NodesHollow NodeKind = "hollow"
	// NodesLight share one process, which does for each what its kubelet would: thousands of them fit on one machine. They
	// take no volumes.
	NodesLight NodeKind = "light"
)

func (NodeKind) choices() []string { return []string{string(NodesHollow), string(NodesLight)} }

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

// MountedBy reports whether a host mounts the datastore, given the names of both it and its compute cluster (empty for a
// standalone host); all are of one datacenter.
func (d *Datastore) MountedBy(cluster, host string) bool {
	return isMember(d.Hosts, d.Clusters, cluster, host)
}

// Has reports whether a host is on the switch, given as to [Datastore.MountedBy].
func (s *Switch) Has(cluster, host string) bool { return isMember(s.Hosts, s.Clusters, cluster, host) }

func isMember(hosts, clusters []string, cluster, host string) bool {
	return len(hosts)+len(clusters) == 0 || slices.Contains(hosts, host) ||
		cluster != "" && slices.Contains(clusters, cluster)
}

// Administrator is the name of the account that every vCenter has.
func (v *VCenter) Administrator() string { return "administrator@" + v.Name + ".local" }
