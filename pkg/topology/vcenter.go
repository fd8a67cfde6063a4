package topology

import "strconv"

// VCenter is one vSphere management endpoint.
type VCenter struct {
	// Name is a DNS label, unique in the topology.
	Name string `json:"name"`
	// Version is the release that it says it is ("8.0.3", "7.0.3"). Default: 8.0.3.
	Version string `json:"version,omitempty"`
	// InstanceUUID is the vCenter's own. Derived when absent.
	InstanceUUID string           `json:"instanceUUID,omitempty"`
	Marks        `json:",inline"` // of the root folder

	Users []User    `json:"users,omitempty"`
	Roles []RoleDef `json:"roles,omitempty"`
	// Sessions are limits on logins.
	Sessions Sessions `json:"sessions,omitzero"`
	// Policies are storage policies, beside those that every vCenter has.
	Policies []Policy `json:"policies,omitempty"`
	// Reactions are what the vCenter does by itself.
	Reactions Reactions `json:"reactions,omitzero"`
	// Folders are datacenter folders that need tags or permissions, or are empty; folders named by a Datacenter exist
	// without being listed here. An empty one has no region and zone, which would be nobody's.
	Folders []Folder `json:"folders,omitempty"`
	// Datacenters holds at least one.
	Datacenters []Datacenter `json:"datacenters"`
}

// Sessions limits the sessions of a vCenter.
type Sessions struct {
	// Idle is how long a session lives without a call ("30m"). Default 30m, as a vCenter's.
	Idle Duration `json:"idle,omitempty"`
	// Limit is how many there may be at once. Default 2000 for SOAP; a vCenter's own limit depends on its size.
	Limit int32 `json:"limit,omitempty"`
}

// Folder is a folder, by its path below the root of its kind ("americas/west").
type Folder struct {
	Path  string `json:"path"`
	Place `json:",inline"`
	Marks `json:",inline"`
}

// Policy is a storage policy: it accepts the datastores that carry all its tags and are of one of its types. It has tags
// or types, or both.
type Policy struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Tags are on every datastore that it accepts. A datastore's own count, not those of the folder that it is in.
	Tags []Tag `json:"tags,omitempty"`
	// Types are those of datastores that it accepts; empty means any.
	Types []DatastoreType `json:"types,omitempty"`
}

// Datacenter holds everything a VM needs.
type Datacenter struct {
	// Name is unique in its vCenter, whatever the folder: cloud configurations name datacenters without their folders.
	Name string `json:"name"`
	// Folder is the path of the folder that holds it; empty means the root folder.
	Folder string `json:"folder,omitempty"`
	Place  `json:",inline"`
	Marks  `json:",inline"`

	// Networks defaults to one "VM Network".
	Networks []Network `json:"networks,omitempty"`
	// Switches are distributed switches with their port groups, which are networks, too.
	Switches []Switch `json:"switches,omitempty"`
	// Datastores defaults to one named "<datacenter>-ds", mounted everywhere, and, where its hosts are in several zones, a
	// larger one for each zone named "<zone>-ds", mounted by the hosts of that zone.
	Datastores []Datastore `json:"datastores,omitempty"`
	Clusters   []Cluster   `json:"clusters,omitempty"`
	// Hosts are standalone hosts.
	Hosts []Host `json:"hosts,omitempty"`
	// Folders are VM folders that need tags or permissions, or are empty.
	Folders []Folder `json:"folders,omitempty"`
	VMs     []VM     `json:"vms,omitempty"`
}

// Network is a standard network, seen by every host of its datacenter.
type Network struct {
	Name  string `json:"name"`
	Marks `json:",inline"`
	// CIDR is where addresses of NICs on it come from when they name none: "10.20.0.0/24", "2001:db8:20::/64". The first
	// address after the network's own is the gateway's ([Network.Gateway]). Running out of addresses is an error.
	CIDR string `json:"cidr,omitempty"`
}

// Switch is a distributed virtual switch.
type Switch struct {
	Name  string `json:"name"`
	Marks `json:",inline"`
	// Hosts and Clusters are its members, by name; both empty means every host of the datacenter.
	Hosts    []string `json:"hosts,omitempty"`
	Clusters []string `json:"clusters,omitempty"`
	// PortGroups holds at least one.
	PortGroups []PortGroup `json:"portGroups"`
}

// PortGroup is a distributed port group: a network on the hosts of its switch.
type PortGroup struct {
	Network `json:",inline"`
	// VLAN is its VLAN, at most 4094; 0 or absent means none.
	VLAN int32 `json:"vlan,omitempty" min:"0"`
}

// Datastore is a volume that hosts mount.
type Datastore struct {
	Name  string `json:"name"`
	Marks `json:",inline"`
	// Type defaults to vmfs.
	Type DatastoreType `json:"type,omitempty"`
	// Capacity is written as a Kubernetes quantity ("500Gi"). Default 1Ti.
	Capacity Bytes `json:"capacity,omitempty"`
	// Used is what is taken of it from the start, at most its capacity. The disks of the topology's VMs are thin and take
	// nothing.
	Used Bytes `json:"used,omitempty" min:"0"`
	// Hosts mount it, and the hosts of Clusters, by name; both empty means every host of the datacenter.
	Hosts    []string `json:"hosts,omitempty"`
	Clusters []string `json:"clusters,omitempty"`
}

// DatastoreType is the kind of a datastore.
type DatastoreType string

// The types of datastore.
const (
	VMFS  DatastoreType = "vmfs"
	NFS   DatastoreType = "nfs"
	NFS41 DatastoreType = "nfs41"
	VSAN  DatastoreType = "vsan"
	VVOL  DatastoreType = "vvol"
)

func (DatastoreType) choices() []string {
	return []string{string(VMFS), string(NFS), string(NFS41), string(VSAN), string(VVOL)}
}

// site is a datacenter while it is resolved: its parts together with where the file has them, which after expansion is
// no longer their index.
type site struct {
	vcenter    *VCenter
	datacenter *Datacenter
	at         *path
	hosts      []sitedHost
	vms        []*path // of datacenter.VMs, index by index
	subnets    map[string]*subnet
}

// sitedHost is a host of a datacenter, with its compute cluster unless it stands alone.
type sitedHost struct {
	*Host
	cluster *Cluster
	at      *path
}

// list gathers the hosts, compute clusters first, once the slices have their final place in memory.
func (s *site) list(clusterHosts [][]*path, standalone []*path) {
	for i := range s.datacenter.Clusters {
		cluster := &s.datacenter.Clusters[i]
		for j := range cluster.Hosts {
			s.hosts = append(s.hosts, sitedHost{&cluster.Hosts[j], cluster, clusterHosts[i][j]})
		}
	}
	for i := range s.datacenter.Hosts {
		s.hosts = append(s.hosts, sitedHost{&s.datacenter.Hosts[i], nil, standalone[i]})
	}
}

// clusterName is the name of its compute cluster, empty for a standalone host.
func (h sitedHost) clusterName() string {
	if h.cluster == nil {
		return ""
	}
	return h.cluster.Name
}

// compute is the name of its compute resource, which a standalone host has to itself.
func (h sitedHost) compute() string {
	if h.cluster == nil {
		return h.Name
	}
	return h.cluster.Name
}

// source is one of the files that a topology is read from. Lines are numbered on from file to file, so that the line of
// a node tells its file, too: base is what a file's own lines are moved by, 0 for the first.
type source struct {
	name string
	base int
}

// sources are the files read so far, by base. There is always the first.
type sources []source

// open begins the next file, behind one whose text had size bytes and so at most as many lines and one.
func (s *sources) open(name string, size int) {
	last := (*s)[len(*s)-1]
	*s = append(*s, source{name: name, base: last.base + size + 2})
}

// find returns the file that a line is in, and its number there.
func (s sources) find(line int) (file source, own int) {
	i := len(s) - 1
	for i > 0 && line <= s[i].base {
		i--
	}
	return s[i], line - s[i].base
}

// describe is a line for a message at another one: its number, and its file where that is a different one.
func (s sources) describe(line, seenFrom int) string {
	file, own := s.find(line)
	if other, _ := s.find(seenFrom); other != file {
		return strconv.Itoa(own) + " of " + file.name
	}
	return strconv.Itoa(own)
}

// refuseShared reports what the replicas of a VM cannot have in common, unless it may be there twice.
func (g replicas) refuseShared(group VM, spec *Spec) {
	if g.count < 2 {
		return
	}
	refuse := func(at *path, value string, kind Duplicate) {
		if value != "" && !spec.Allows(kind) {
			g.field(at, "", "would be the same for all %d replicas: leave it out to have it derived", g.count)
		}
	}
	refuse(g.at.key("uuid"), group.UUID, DuplicateUUID)
	refuse(g.at.key("instanceUUID"), group.InstanceUUID, DuplicateInstanceUUID)
	for i, nic := range group.NICs {
		at := g.at.key("nics").item(i)
		refuse(at.key("mac"), nic.MAC, DuplicateMAC)
		for j, address := range nic.Addresses {
			if _, numbered := number(address, 1); !numbered {
				refuse(at.key("addresses").item(j), address, DuplicateAddress)
			}
		}
	}
	_, numbered := number(group.Hostname, 1)
	if group.Hostname != "" && !numbered && !spec.Allows(DuplicateHostname) {
		g.field(g.at.key("hostname"), "", "needs {n}: it would be the same for all %d replicas", g.count)
	}
}
