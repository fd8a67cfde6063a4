package privilege

// Component is a program with an account at a vCenter.
type Component string

// The components.
const (
	CCM Component = "ccm" // the cloud controller manager
	CSI Component = "csi" // the CSI driver's controller
)

// Need is which programs need a privilege.
type Need string

// The needs. Both includes this module's provider or driver, and upstream's.
const (
	Both     Need = "both"     // proven by a test
	Upstream Need = "upstream" // only upstream's CSI driver
	Neither  Need = "none"     // part of every role, cannot be removed
)

// Privilege is one vSphere privilege.
type Privilege struct {
	// ID is vSphere's identifier: "Cns.Searchable".
	ID string
	// Label is where the vSphere Client lists it: "CNS > Searchable".
	Label string
	// Calls are the methods of vSphere's APIs that require it, of those that are called.
	Calls []string
	// Need is which programs need it, and Why is what for.
	Need Need
	Why  string
	// Without is what fails if an account lacks only this privilege; empty unless Need is Everybody.
	Without []Failure
}

// Failure is an operation that fails, with a part of its error.
type Failure struct {
	Operation Operation
	// Message is a literal part of the error message.
	Message string
}

// Role is a named set of privileges.
type Role struct {
	Name string
	// System reports that every vCenter has the role.
	System bool
	// Privileges are those of the role, without [Always] unless System is set.
	Privileges []Privilege
	// Option is the feature that needs the role; empty if it is always needed.
	Option Option
}

// Option is a feature that not every cluster uses.
type Option string

// FileVolumes are volumes that several nodes mount at once, from vSAN file services.
const FileVolumes Option = "file volumes"

// IDs returns the identifiers of the role's privileges.
func (r Role) IDs() []string {
	ids := make([]string, len(r.Privileges))
	for i, p := range r.Privileges {
		ids[i] = p.ID
	}
	return ids
}

// failures returns several operations with the same error text.
func failures(says string, of ...Operation) []Failure {
	all := make([]Failure, len(of))
	for i, o := range of {
		all[i] = Failure{o, says}
	}
	return all
}

// fileFailures returns what fails if files on a datastore cannot be changed.
func fileFailures() []Failure {
	return failures("needs Datastore.FileManagement on Datastore:", CreateVolume, CreateWithPolicy, CreateFrom, ExpandVolume,
		TakeSnapshot, DeleteSnapshot, DeleteVolume)
}

// visibilityFailures returns what fails in a datacenter that an account may not see or read. A vCenter does not refuse such a query but
// returns nothing. The driver sees the VMs of nodes through its role on them.
func visibilityFailures() []Failure {
	return append(failures("vm not found", InitializeNode, ZoneOfNode, ShutdownNode), topologyFailures()...)
}

// topologyFailures returns what fails if the driver does not see hosts and clusters, whose tags are the topology.
func topologyFailures() []Failure {
	return failures(`no tag of category "k8s-zone"`, NodeTopology, CreateVolume, CreateWithPolicy, CreateFrom)
}

// Operation is an operation of the cloud provider or the driver.
type Operation string

// The operations of the cloud provider on a node.
const (
	InitializeNode Operation = "initialize a node"
	ZoneOfNode     Operation = "label a node with region and zone"
	ShutdownNode   Operation = "report that a node's VM is off"
)

// The operations of the driver.
const (
	NodeTopology     Operation = "report a node's topology"
	CreateVolume     Operation = "create a volume"
	CreateWithPolicy Operation = "create a volume of a storage policy"
	CreateFrom       Operation = "create a volume from a snapshot"
	AttachVolume     Operation = "attach a volume"
	DetachVolume     Operation = "detach a volume"
	ExpandVolume     Operation = "expand a volume"
	TakeSnapshot     Operation = "take a snapshot"
	DeleteSnapshot   Operation = "delete a snapshot"
	ListVolumes      Operation = "list volumes"
	ListSnapshots    Operation = "list snapshots"
	DeleteVolume     Operation = "delete a volume"
)

// Always returns the privileges that vCenter adds to every role.
func Always() []Privilege {
	return []Privilege{
		{ID: "System.Anonymous", Label: "none", Need: Neither, Why: "no call of the cloud provider or the driver asks for it"},
		{
			ID: "System.View", Label: "none", Need: Both, Calls: []string{"CreateContainerView", "FindByUuid"},
			Why: "without it, an object does not exist for the account", Without: visibilityFailures(),
		},
		{
			ID: "System.Read", Label: "none", Need: Both, Calls: []string{"RetrievePropertiesEx", "WaitForUpdatesEx"},
			Why: "properties of objects, and their tags", Without: visibilityFailures(),
		},
	}
}

// ReadOnly returns vCenter's own role.
func ReadOnly() Role { return Role{Name: "ReadOnly", System: true, Privileges: Always()} }

// Search returns the role for cloud native storage on the vCenter.
func Search() Role {
	return Role{Name: "CNS-SEARCH-AND-SPBM", Privileges: []Privilege{
		{
			ID: "Cns.Searchable", Label: "CNS > Searchable", Need: Both,
			Calls: []string{"CnsQueryVolume", "CnsQuerySnapshots", "CnsCreateVolume", "CnsExtendVolume", "CnsCreateSnapshots", "CnsDeleteSnapshots", "CnsDeleteVolume", "CnsUpdateVolumeMetadata"},
			Why:   "all that is done to volumes, and every look for one",
			Without: failures("needs Cns.Searchable on Folder:", CreateVolume, CreateWithPolicy, CreateFrom, ExpandVolume, TakeSnapshot,
				DeleteSnapshot, ListVolumes, ListSnapshots, DeleteVolume),
		},
		{
			ID: "StorageProfile.View", Label: "VM storage policies > View VM storage policies", Need: Both,
			Calls: []string{"PbmQueryProfile", "PbmRetrieveContent", "PbmCheckRequirements"},
			Why:   "StorageClasses with storagepolicyname", Without: failures("needs StorageProfile.View on Folder:", CreateWithPolicy),
		},
	}}
}

// Volumes returns the role for datastores.
func Volumes() Role {
	return Role{Name: "CNS-DATASTORE", Privileges: []Privilege{{
		ID: "Datastore.FileManagement", Label: "Datastore > Low level file operations", Need: Both,
		Calls: []string{"CnsCreateVolume", "CnsExtendVolume", "CnsCreateSnapshots", "CnsDeleteSnapshots", "CnsDeleteVolume"},
		Why:   "the files of volumes", Without: fileFailures(),
	}}}
}

// Attach returns the role for the VMs of nodes.
func Attach() Role {
	return Role{Name: "CNS-VM", Privileges: []Privilege{
		{
			ID: "VirtualMachine.Config.AddExistingDisk", Label: "Virtual machine > Change Configuration > Add existing disk",
			Need: Both, Calls: []string{"CnsAttachVolume"}, Why: "a volume is a disk that exists",
			Without: failures("needs VirtualMachine.Config.AddExistingDisk on VirtualMachine:", AttachVolume),
		},
		{
			ID: "VirtualMachine.Config.AddRemoveDevice", Label: "Virtual machine > Change Configuration > Add or remove device",
			Need: Both, Calls: []string{"CnsAttachVolume", "CnsDetachVolume"}, Why: "a disk is a device",
			Without: failures("needs VirtualMachine.Config.AddRemoveDevice on VirtualMachine:", AttachVolume, DetachVolume),
		},
	}}
}

// HostConfig returns the role for file volumes.
func HostConfig() Role {
	return Role{Name: "CNS-HOST-CONFIG-STORAGE", Option: FileVolumes, Privileges: []Privilege{{
		ID: "Host.Config.Storage", Label: "Host > Configuration > Storage partition configuration", Need: Upstream,
		Calls: []string{"HasUserPrivilegeOnEntities"},
		Why:   "upstream's driver makes file volumes where its account has it; this module's driver makes no call that asks for it",
	}}}
}

// Roles returns all roles, those for an option last.
func Roles() []Role { return []Role{ReadOnly(), Search(), Volumes(), Attach(), HostConfig()} }

// Grants returns all grants, by component.
func Grants() []Grant {
	return []Grant{
		{
			Component: CCM, Role: ReadOnly(), On: Datacenter, Propagate: true,
			Why:     "VMs with their addresses and power; hosts, clusters, pools and folders, whose tags are zones",
			Without: failures("vm not found", InitializeNode, ZoneOfNode, ShutdownNode),
		},
		{
			Component: CCM, Role: ReadOnly(), On: Above, Why: "tags on it, which are of all datacenters below",
			Without: failures(`no tag of category "k8s-region"`, InitializeNode, ZoneOfNode),
		},
		{
			Component: CSI, Role: Search(), On: Root, Why: "volumes and storage policies are the vCenter's, not a datacenter's",
			Without: append(failures("needs Cns.Searchable on Folder:", CreateVolume, CreateFrom, ExpandVolume, TakeSnapshot,
				DeleteSnapshot, ListVolumes, ListSnapshots, DeleteVolume), failures("needs StorageProfile.View on Folder:", CreateWithPolicy)...),
		},
		{
			Component: CSI, Role: ReadOnly(), On: Datacenter, Propagate: true,
			Why:     "VMs, hosts and which of them mounts which datastore; tags, which are topology",
			Without: topologyFailures(),
		},
		{
			Component: CSI, Role: ReadOnly(), On: Above, Why: "tags on it, which are of all datacenters below",
			Without: failures(`no tag of category "k8s-region"`, NodeTopology, CreateVolume, CreateWithPolicy, CreateFrom),
		},
		{Component: CSI, Role: Volumes(), On: Datastore, Why: "volumes are files there", Without: fileFailures()},
		{
			Component: CSI, Role: Attach(), On: VMs, Propagate: true, Why: "volumes are attached to them",
			Without: append(failures("needs VirtualMachine.Config.AddExistingDisk on VirtualMachine:", AttachVolume),
				failures("needs VirtualMachine.Config.AddRemoveDevice on VirtualMachine:", DetachVolume)...),
		},
		{Component: CSI, Role: HostConfig(), On: Cluster, Propagate: true, Why: "file volumes of upstream's driver"},
	}
}

// Site is a kind of object that roles are granted on.
type Site string

// The sites.
const (
	Root       Site = "root"       // the root folder
	Above      Site = "above"      // folders above datacenters, and the root folder, that have a tag of a region or zone
	Datacenter Site = "datacenter" // each datacenter with nodes
	VMs        Site = "machines"   // the VMs of nodes, or their folders
	Datastore  Site = "datastore"  // each datastore for volumes
	Cluster    Site = "cluster"    // each compute cluster with vSAN file services
)

// String returns a description of the site.
func (s Site) String() string {
	switch s {
	case Root:
		return "root folder"
	case Above:
		return "folder above datacenters, where it has a tag of a region or zone"
	case Datacenter:
		return "each datacenter with nodes"
	case VMs:
		return "folder of the nodes' VMs, or each of these VMs"
	case Datastore:
		return "each datastore for volumes"
	case Cluster:
		return "each compute cluster with vSAN file services"
	}
	return string(s)
}

// Grant is a role on a kind of object.
type Grant struct {
	Component Component
	Role      Role
	On        Site
	// Propagate reports that the grant includes all objects below.
	Propagate bool
	// Why is the purpose of the grant.
	Why string
	// Without is what fails if only this grant is missing.
	Without []Failure
}
