package privilege

// Site is a kind of object that roles are granted on.
type Site string

// The sites.
const (
	Root       Site = "root"       // the root folder
	Above      Site = "above"      // what is above datacenters and has a tag of a region or zone: folders, the root folder
	Datacenter Site = "datacenter" // each that has nodes
	Machines   Site = "machines"   // the VMs that are nodes, or the folders that they are in
	Datastore  Site = "datastore"  // each that is to hold volumes
	Cluster    Site = "cluster"    // each compute cluster with vSAN file services
)

// String is a site in words.
func (s Site) String() string {
	switch s {
	case Root:
		return "root folder"
	case Above:
		return "folder above datacenters, where it has a tag of a region or zone"
	case Datacenter:
		return "each datacenter with nodes"
	case Machines:
		return "folder of the nodes' VMs, or each of these VMs"
	case Datastore:
		return "each datastore for volumes"
	case Cluster:
		return "each compute cluster with vSAN file services"
	}
	return string(s)
}

// Grant is a role on objects.
type Grant struct {
	Component Component
	Role      Role
	On        Site
	// Propagate says that it is for all below, too.
	Propagate bool
	// Why is what it is for.
	Why string
	// Without is what fails where this grant, and it alone, is missing.
	Without []Failure
}
