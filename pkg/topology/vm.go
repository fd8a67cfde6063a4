package topology

import (
	"iter"
	"net/netip"
	"slices"
)

// VM is a virtual machine.
type VM struct {
	// Name is the inventory name, unique in its folder; {n} as in [Host]. Hostname, Cluster, Host, Pool, Folder, Datastore, the
	// names of tags, and the networks and addresses of NICs may also contain {n}.
	Name string `json:"name"`
	// Replicas creates that many VMs; zero in a resolved topology.
	Replicas int `json:"replicas,omitempty"`
	Marks    `json:",inline"`
	// Spread distributes VMs if neither Cluster nor Host is set: over the hosts of the datacenter's compute resources, or over
	// its clusters (and the hosts of each in turn). Default: none. Empty in a resolved topology.
	Spread Spread `json:"spread,omitempty"`
	// Cluster places VMs on the cluster's hosts in turn; Host names one host and may contain {n}. One of the two is required if
	// the datacenter has more than one compute resource. A resolved VM always has its Host, and its Cluster if the host is in
	// one.
	Cluster string `json:"cluster,omitempty"`
	Host    string `json:"host,omitempty"`
	// Pool is the path of a resource pool or vApp below the root pool of the compute resource ("prod/web"); empty means the root
	// pool.
	Pool string `json:"pool,omitempty"`
	// Folder is a path below the datacenter's VM folder; empty means that folder.
	Folder string `json:"folder,omitempty"`
	// Datastore defaults to the first one of the VM's host.
	Datastore string `json:"datastore,omitempty"`
	// CPUs defaults to 2, Memory (whole Mi) to 4Gi, GuestID to ubuntu64Guest.
	CPUs    int32  `json:"cpus,omitempty"`
	Memory  Bytes  `json:"memory,omitempty"`
	GuestID string `json:"guestID,omitempty"`
	// Hostname is what the guest reports through its tools, and so the node's name: a DNS name in lower case, unique among nodes
	// unless duplicates are allowed, with {n} as in Name. Default: Name, converted to a DNS name unless the VM is a node.
	Hostname string `json:"hostname,omitempty"`
	// NICs defaults to one on the datacenter's first network.
	NICs []NIC `json:"nics,omitempty"`
	// Template makes it a template, which has no power, no pool and no addresses, and is not a node.
	Template Choice `json:"template,omitempty"`
	// HardwareVersion defaults to the newest of the vCenter's version ("vmx-21").
	HardwareVersion string `json:"hardwareVersion,omitempty"`
	// ExtraConfig is the VM's advanced configuration (including guestinfo.*). Keys that other fields of a VM set are refused.
	ExtraConfig []KeyValue `json:"extraConfig,omitempty"`
	// GuestInfo, if yes, adds the NICs' addresses to extraConfig as cloud-init's metadata (guestinfo.metadata), as provisioning
	// tools do for static addresses.
	GuestInfo Choice `json:"guestInfo,omitempty"`
	// Snapshots are taken in this order, each the child of the previous one.
	Snapshots []Snapshot `json:"snapshots,omitempty"`
	// Tools, if no, means a guest without VMware Tools: it reports nothing. Default: yes.
	Tools Choice `json:"tools,omitempty"`
	// Power defaults to on, for a template to off.
	Power Power `json:"power,omitempty"`
	// Role makes the VM a Kubernetes node. Empty: not a node.
	Role Role `json:"role,omitempty"`
	// Nodes is the kind of the VM's node. Default: that of the topology.
	Nodes NodeKind `json:"nodes,omitempty"`
	// Kubelet is the release of the node's kubelet, on an embedded cluster: v1.36. Default: that of the cluster.
	Kubelet string `json:"kubelet,omitempty"`
	// Clones, of a template, makes VMs that clients clone from it Kubernetes nodes. Optional.
	Clones *Clones `json:"clones,omitempty"`
	// UUID is the BIOS UUID (config.uuid), InstanceUUID the one that is unique in the vCenter; in lower case. Default: derived.
	UUID         string `json:"uuid,omitempty"`
	InstanceUUID string `json:"instanceUUID,omitempty"`
}

// Clones says which clones of a template are nodes, and what kind of nodes.
type Clones struct {
	// Role of the nodes.
	Role Role `json:"role"`
	// Match is a pattern of the names of VMs, with * and ?. Default: all clones.
	Match string `json:"match,omitempty"`
	// Nodes is the kind of the nodes. Default: that of the topology.
	Nodes NodeKind `json:"nodes,omitempty"`
}

// Spread is how VMs are distributed.
type Spread string

// The ways to distribute VMs.
const (
	SpreadHosts    Spread = "hosts"
	SpreadClusters Spread = "clusters"
)

func (Spread) choices() []string { return []string{string(SpreadHosts), string(SpreadClusters)} }

// KeyValue is one setting.
type KeyValue struct {
	Key string `json:"key"`
	// Value must not be empty: in vSphere, an empty value removes the key.
	Value string `json:"value" max:"65536"`
}

// Snapshot is a snapshot of a VM.
type Snapshot struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// IsNode reports whether the VM is a Kubernetes node.
func (v VM) IsNode() bool { return v.Role != "" }

// IsLight reports whether the VM is a light node.
func (v VM) IsLight() bool { return v.IsNode() && v.Nodes == NodesLight }

// NIC is a network card of a VM.
type NIC struct {
	// Network defaults to the datacenter's first.
	Network string `json:"network,omitempty"`
	// MAC defaults to a derived one (VMware's manual range 00:50:56:00-3f).
	MAC string `json:"mac,omitempty"`
	// Addresses are IPv4 or IPv6 addresses with prefix length ("198.18.0.10/16"); without one, an address has that of the
	// network's CIDR that contains it, or else /24 or /64. By default, one comes from the network's CIDR, or from the
	// benchmarking range 198.18.0.0/15 (RFC 2544). In a group of replicas an address may contain {n}.
	Addresses []string `json:"addresses,omitempty"`
}

// Power is a VM's initial power state.
type Power string

// The power states of a topology.
const (
	PowerOn  Power = "on"
	PowerOff Power = "off"
)

func (Power) choices() []string { return []string{string(PowerOn), string(PowerOff)} }

// Role is the role of a node in the Kubernetes cluster.
type Role string

// The roles of nodes.
const (
	RoleControlPlane Role = "control-plane"
	RoleWorker       Role = "worker"
)

func (Role) choices() []string { return []string{string(RoleControlPlane), string(RoleWorker)} }

func (Role) synonyms() map[string]string {
	return map[string]string{"master": string(RoleControlPlane), "server": string(RoleControlPlane), "node": string(RoleWorker), "agent": string(RoleWorker)}
}

// NodeKind is the implementation of a node.
type NodeKind string

// The kinds of nodes.
const (
	// NodesHollow have a separate kubelet process each.
	NodesHollow NodeKind = "hollow"
	// NodesLight share one process, which acts as the kubelet of each: thousands fit on one computer. They have no volumes.
	NodesLight NodeKind = "light"
)

func (NodeKind) choices() []string { return []string{string(NodesHollow), string(NodesLight)} }

// VMRef is a VM with its containers. The pointers lead into the topology, which must not be changed.
type VMRef struct {
	VCenter    *VCenter
	Datacenter *Datacenter
	VM         *VM
}

// InventoryPath returns the VM's path in its vCenter, as for govc and the finder: /americas/dc/vm/folder/name.
func (r VMRef) InventoryPath() string {
	return r.Datacenter.InventoryPath() + "/vm/" + join(r.VM.Folder, r.VM.Name)
}

// InventoryPath returns the datacenter's path in its vCenter: /americas/dc.
func (d *Datacenter) InventoryPath() string { return "/" + join(d.Folder, d.Name) }

// AllVMs iterates over the VMs of all vCenters in the order of the file.
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

// Kubelets returns the releases that nodes name for their kubelets, each with one of the VMs that name it.
func (t *Topology) Kubelets() map[string]string {
	releases := map[string]string{}
	for ref := range t.AllVMs() {
		if r := ref.VM.Kubelet; r != "" && releases[r] == "" {
			releases[r] = ref.VM.Name
		}
	}
	return releases
}

// Nodes returns the VMs that are Kubernetes nodes, in the order of the file; it may be empty. Hostnames are unique: if the
// topology allows duplicates (DuplicateHostname), only the first VM with a name is a node.
func (t *Topology) Nodes() []VMRef {
	var nodes []VMRef
	var names map[string]bool
	if t.Spec.AllowsDuplicate(DuplicateHostname) {
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

// AllHosts iterates over the hosts of a datacenter: those of compute clusters with their cluster, then the standalone ones with
// nil.
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

// Host returns a host of the datacenter by name, with its compute cluster (nil for a standalone one), or nil.
func (d *Datacenter) Host(name string) (*Cluster, *Host) {
	for cluster, host := range d.AllHosts() {
		if host.Name == name {
			return cluster, host
		}
	}
	return nil, nil
}

// AllNetworks iterates over the networks of a datacenter: the standard ones, then the port groups with their switch.
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

// Network returns a network of the datacenter by name, with its switch if it is a port group, or nil.
func (d *Datacenter) Network(name string) (*Switch, *Network) {
	for sw, network := range d.AllNetworks() {
		if network.Name == name {
			return sw, network
		}
	}
	return nil, nil
}

// Gateway returns the gateway of a network with a CIDR, the first address after the network's; otherwise it is invalid.
func (n *Network) Gateway() netip.Addr {
	prefix, err := parseSubnet(n.CIDR)
	if err != nil {
		return netip.Addr{}
	}
	return gatewayOf(prefix)
}

// Subnet returns the addresses of a network with a CIDR; otherwise it is invalid.
func (n *Network) Subnet() netip.Prefix {
	prefix, err := parseSubnet(n.CIDR)
	if err != nil {
		return netip.Prefix{}
	}
	return prefix
}

// MountedBy reports whether a host mounts the datastore, by the names of its compute cluster (empty for a standalone host) and
// the host, in the same datacenter.
func (d *Datastore) MountedBy(cluster, host string) bool {
	return isMember(d.Hosts, d.Clusters, cluster, host)
}

// Has reports whether a host is on the switch, with arguments as for [Datastore.MountedBy].
func (s *Switch) Has(cluster, host string) bool { return isMember(s.Hosts, s.Clusters, cluster, host) }

func isMember(hosts, clusters []string, cluster, host string) bool {
	return len(hosts)+len(clusters) == 0 || slices.Contains(hosts, host) ||
		cluster != "" && slices.Contains(clusters, cluster)
}

// Administrator returns the name of the administrator's account.
func (v *VCenter) Administrator() string { return "administrator@" + v.Name + ".local" }
