package topology

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
)

// VCenter is one vSphere management endpoint.
type VCenter struct {
	// Name is a DNS label, unique in the topology.
	Name string `json:"name"`
	// Version is the release of the vCenter ("8.0.3", "7.0.3"). Default: 8.0.3.
	Version string `json:"version,omitempty"`
	// InstanceUUID is the UUID of the vCenter. Default: derived.
	InstanceUUID string           `json:"instanceUUID,omitempty"`
	Marks        `json:",inline"` // of the root folder

	Users []User    `json:"users,omitempty"`
	Roles []RoleDef `json:"roles,omitempty"`
	// Sessions are limits on logins.
	Sessions Sessions `json:"sessions,omitzero"`
	// Policies are storage policies, in addition to those of every vCenter.
	Policies []Policy `json:"policies,omitempty"`
	// Reactions are the automatic actions of the vCenter.
	Reactions Reactions `json:"reactions,omitzero"`
	// Folders are datacenter folders with tags or permissions, or empty ones; folders named by a Datacenter need not be listed.
	// An empty folder cannot have a region and zone.
	Folders []Folder `json:"folders,omitempty"`
	// Datacenters holds at least one.
	Datacenters []Datacenter `json:"datacenters"`
}

// Sessions limits the sessions of a vCenter.
type Sessions struct {
	// Idle is the time without a call after which a session ends ("30m"). Default 30m, as in vCenter.
	Idle Duration `json:"idle,omitempty"`
	// Limit is the maximum number of sessions. Default 2000 for SOAP; a vCenter's limit depends on its size.
	Limit int32 `json:"limit,omitempty"`
}

// Folder is a folder, by its path below the root of its kind ("americas/west").
type Folder struct {
	Path  string `json:"path"`
	Place `json:",inline"`
	Marks `json:",inline"`
}

// Policy is a storage policy: it accepts the datastores that have all its tags and one of its types. It has tags, types, or both.
type Policy struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Tags must be on every accepted datastore; tags of its folder do not count.
	Tags []Tag `json:"tags,omitempty"`
	// Types are the accepted types of datastores; empty means any.
	Types []DatastoreType `json:"types,omitempty"`
}

// Datacenter contains everything a VM needs.
type Datacenter struct {
	// Name is unique in its vCenter, regardless of the folder: cloud configurations name datacenters without their folders.
	Name string `json:"name"`
	// Folder is the path of its folder; empty means the root folder.
	Folder string `json:"folder,omitempty"`
	Place  `json:",inline"`
	Marks  `json:",inline"`

	// Networks defaults to one "VM Network".
	Networks []Network `json:"networks,omitempty"`
	// Switches are distributed switches. Their port groups are also networks.
	Switches []Switch `json:"switches,omitempty"`
	// Datastores defaults to one named "<datacenter>-ds" for all hosts and, if the hosts are in several zones, a larger one for
	// the hosts of each zone, named "<zone>-ds".
	Datastores []Datastore `json:"datastores,omitempty"`
	Clusters   []Cluster   `json:"clusters,omitempty"`
	// Hosts are standalone hosts.
	Hosts []Host `json:"hosts,omitempty"`
	// Folders are VM folders with tags or permissions, or empty ones.
	Folders []Folder `json:"folders,omitempty"`
	VMs     []VM     `json:"vms,omitempty"`
}

// Network is a standard network of every host of its datacenter.
type Network struct {
	Name  string `json:"name"`
	Marks `json:",inline"`
	// CIDR is the range of addresses for NICs without addresses: "10.20.0.0/24", "2001:db8:20::/64". The first address after the
	// network's is the gateway ([Network.Gateway]). Too few addresses are an error.
	CIDR string `json:"cidr,omitempty"`
}

// Switch is a distributed virtual switch.
type Switch struct {
	Name  string `json:"name"`
	Marks `json:",inline"`
	// Hosts and Clusters are the names of its members; both empty means every host of the datacenter.
	Hosts    []string `json:"hosts,omitempty"`
	Clusters []string `json:"clusters,omitempty"`
	// PortGroups holds at least one.
	PortGroups []PortGroup `json:"portGroups"`
}

// PortGroup is a distributed port group: a network of the hosts of its switch.
type PortGroup struct {
	Network `json:",inline"`
	// VLAN is its VLAN, at most 4094; 0 means none.
	VLAN int32 `json:"vlan,omitempty" min:"0"`
}

// Datastore is a volume that hosts mount.
type Datastore struct {
	Name  string `json:"name"`
	Marks `json:",inline"`
	// Type defaults to vmfs.
	Type DatastoreType `json:"type,omitempty"`
	// Capacity is a Kubernetes quantity ("500Gi"). Default 1Ti.
	Capacity Bytes `json:"capacity,omitempty"`
	// Used is the initially used space, at most its capacity. The disks of the topology's VMs are thin and use nothing.
	Used Bytes `json:"used,omitempty" min:"0"`
	// Hosts and the hosts of Clusters, by name, mount it; both empty means every host of the datacenter.
	Hosts    []string `json:"hosts,omitempty"`
	Clusters []string `json:"clusters,omitempty"`
}

// DatastoreType is the type of a datastore.
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

// site is a datacenter during resolution: its parts with their paths in the file, which differ from their indexes after
// expansion.
type site struct {
	vcenter    *VCenter
	datacenter *Datacenter
	at         *path
	hosts      []sitedHost
	vms        []*path // of datacenter.VMs, by index
	subnets    map[string]*subnet
}

// sitedHost is a host of a datacenter, with its compute cluster unless it is standalone.
type sitedHost struct {
	*Host
	cluster *Cluster
	at      *path
}

// list lists the hosts, those of compute clusters first, once the slices do not move any more.
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

// clusterName returns the name of its compute cluster, empty for a standalone host.
func (h sitedHost) clusterName() string {
	if h.cluster == nil {
		return ""
	}
	return h.cluster.Name
}

// compute returns the name of its compute resource, which for a standalone host is its own.
func (h sitedHost) compute() string {
	if h.cluster == nil {
		return h.Name
	}
	return h.cluster.Name
}

// source is one of the files of a topology. Line numbers continue from file to file, so that a node's line identifies its file:
// base is the offset of a file's lines, 0 for the first.
type source struct {
	name string
	base int
}

// sources are the files read so far, by base, at least one.
type sources []source

// open begins the next file, after one with size bytes and so at most size + 1 lines.
func (s *sources) open(name string, size int) {
	last := (*s)[len(*s)-1]
	*s = append(*s, source{name: name, base: last.base + size + 2})
}

// find returns the file of a line, and its number there.
func (s sources) find(line int) (file source, own int) {
	i := len(s) - 1
	for i > 0 && line <= s[i].base {
		i--
	}
	return s[i], line - s[i].base
}

// describe returns a line number for a message at another line, with the file if that differs.
func (s sources) describe(line, seenFrom int) string {
	file, own := s.find(line)
	if other, _ := s.find(seenFrom); other != file {
		return strconv.Itoa(own) + " of " + file.name
	}
	return strconv.Itoa(own)
}

// refuseShared reports what the replicas of a VM must not share, unless duplicates are allowed.
func (g replicas) refuseShared(group VM, spec *Spec) {
	if g.count < 2 {
		return
	}
	refuse := func(at *path, value string, kind Duplicate) {
		if value != "" && !spec.AllowsDuplicate(kind) {
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
	if group.Hostname != "" && !numbered && !spec.AllowsDuplicate(DuplicateHostname) {
		g.field(g.at.key("hostname"), "", "needs {n}: it would be the same for all %d replicas", g.count)
	}
}

// Reactions are the automatic actions of a vCenter, its hosts and its guests. All are off by default.
type Reactions struct {
	HA    HA    `json:"ha,omitzero"`
	DRS   DRS   `json:"drs,omitzero"`
	DHCP  DHCP  `json:"dhcp,omitzero"`
	Guest Guest `json:"guest,omitzero"`
}

// HA restarts the VMs of a failed host on other hosts of its cluster.
type HA struct {
	Enabled Choice `json:"enabled,omitempty"`
	// Detect is the time without contact after which a host counts as failed. Default 15s.
	Detect Duration `json:"detect,omitempty"`
	// Restart is the time from then to the power-on of its VMs. Default 10s.
	Restart Duration `json:"restart,omitempty"`
	// HostFailures is the number of hosts of a cluster that may fail; VMs that would leave too little room for that cannot be
	// powered on. Default: no admission control.
	HostFailures int32 `json:"hostFailures,omitempty" min:"0"`
}

// DRS spreads the powered-on VMs of a cluster over its hosts.
type DRS struct {
	Enabled Choice `json:"enabled,omitempty"`
	// Period is the time between two runs. Default 5m, as in vCenter.
	Period Duration `json:"period,omitempty"`
}

// DHCP changes the addresses of guests periodically.
type DHCP struct {
	Enabled Choice `json:"enabled,omitempty"`
	// Lease is the time for which a guest keeps its addresses. Default 1h.
	Lease Duration `json:"lease,omitempty"`
}

// Guest is the timing of guests. Default: that of the sandbox.
type Guest struct {
	// Boot is the time from power-on to running tools.
	Boot Duration `json:"boot,omitempty"`
	// Addresses is the time from then to a hostname and addresses.
	Addresses Duration `json:"addresses,omitempty"`
	// Shutdown is the time that a guest needs to shut down.
	Shutdown Duration `json:"shutdown,omitempty"`
}

// Duration is a duration in Go's form: "90s", "5m".
type Duration time.Duration

// UnmarshalText parses a positive duration.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf(`must be a time span ("90s", "5m")`)
	}
	if v <= 0 {
		return fmt.Errorf("must be more than no time")
	}
	*d = Duration(v)
	return nil
}

// String returns the short form: "5m", where [time.Duration] has "5m0s".
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// MarshalText writes the short form.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// releases lists the vSphere releases for vCenters, newest first, each from its first update on, with the newest hardware version
// of its hosts (Broadcom's article 315655).
func releases() []release {
	return []release{
		{9, 0, 0, 22},
		{8, 0, 2, 21},
		{8, 0, 0, 20},
		{7, 0, 2, 19},
		{7, 0, 1, 18},
		{7, 0, 0, 17},
		{6, 7, 2, 15},
		{6, 7, 0, 14},
		{6, 5, 0, 13},
	}
}

type release struct{ major, minor, update, hardware int }

// newestHardware returns the newest hardware version of a vCenter's release, or 0 for an unknown one.
func newestHardware(version string) int {
	var major, minor, update int
	if n, err := fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &update); n != 3 || err != nil ||
		version != fmt.Sprintf("%d.%d.%d", major, minor, update) || update < 0 || update > 99 {
		return 0
	}
	for _, r := range releases() {
		if r.major == major && r.minor == minor && update >= r.update {
			return r.hardware
		}
	}
	return 0
}

// releaseVersion is the rule for the version of a vCenter.
func releaseVersion(version string) (complaint, hint string) {
	if newestHardware(version) > 0 {
		return "", ""
	}
	if newestHardware(version+".0") > 0 {
		hint = version + ".0"
	}
	return "must be a vSphere release from 6.5.0 to 9.0, such as 8.0.3, not " + strict.Shown(version), hint
}

func hardwareName(version int) string { return "vmx-" + strconv.Itoa(version) }

// hardwareNumber parses "vmx-21", or returns 0. It excludes those of Workstation (6, 12, 16), and 5, which does not exist.
func hardwareNumber(name string) int {
	digits, ok := strings.CutPrefix(name, "vmx-")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || hardwareName(n) != name {
		return 0
	}
	switch {
	case n == 4, n >= 7 && n <= 11, n >= 13 && n <= 15, n >= 17 && n <= 22:
		return n
	}
	return 0
}

// checkHardware checks a VM's hardware version against the vCenter's release.
func checkHardware(p *problems, vcenter *VCenter, name string, at *path) {
	newest := newestHardware(vcenter.Version)
	if name == "" || newest == 0 {
		return
	}
	number := hardwareNumber(name)
	switch {
	case number == 0:
		p.field(at, "", "must be a hardware version of ESXi such as %s, not %s", hardwareName(newest), strict.Shown(name))
	case number > newest:
		p.field(at, hardwareName(newest), "is newer than vSphere %s, the vCenter's version, knows", vcenter.Version)
	}
}
