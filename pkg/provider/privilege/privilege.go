package privilege

// Component is who has an account at a vCenter.
type Component string

// The components.
const (
	CCM Component = "ccm" // the cloud controller manager
	CSI Component = "csi" // the CSI driver's controller
)

// Need is who cannot do without.
type Need string

// The needs. Everybody's is this module's provider or driver, and upstream's.
const (
	Everybody Need = "both"     // shown by a run
	Upstream  Need = "upstream" // upstream's CSI driver alone
	Nobody    Need = "nobody"   // comes with every role, and cannot be left out
)

// Privilege is one thing that an account may do.
type Privilege struct {
	// ID is vSphere's: "Cns.Searchable".
	ID string
	// Label is where the vSphere Client lists it: "CNS > Searchable".
	Label string
	// Calls are the methods of vSphere's APIs that ask for it, of those that are called.
	Calls []string
	// Need is who needs it, and Why what for.
	Need Need
	Why  string
	// Without is what fails in an account that lacks it, and it alone. Nothing where Need is not Everybody.
	Without []Failure
}

// Failure is an operation that fails, and what its user is told.
type Failure struct {
	Operation Operation
	// Says is in the message, word for word.
	Says string
}

// Role is a set of privileges under a name.
type Role struct {
	Name string
	// System says that every vCenter has it.
	System bool
	// Privileges are without those of [Always], but for a role of the system's.
	Privileges []Privilege
	// Option is what has to be wanted for the role to be; empty for one that always is.
	Option Option
}

// Option is something that not every cluster has.
type Option string

// FileVolumes are volumes that several nodes mount at once, by vSAN file services.
const FileVolumes Option = "file volumes"

// IDs are the privileges of the role.
func (r Role) IDs() []string {
	ids := make([]string, len(r.Privileges))
	for i, p := range r.Privileges {
		ids[i] = p.ID
	}
	return ids
}

// failures are those of several operations with the same words.
func failures(says string, of ...Operation) []Failure {
	all := make([]Failure, len(of))
	for i, o := range of {
		all[i] = Failure{o, says}
	}
	return all
}

// written is what fails where files on a datastore cannot be changed.
func written() []Failure {
	return failures("needs Datastore.FileManagement on Datastore:", CreateVolume, CreateWithPolicy, CreateFrom, ExpandVolume,
		TakeSnapshot, DeleteSnapshot, DeleteVolume)
}

// unseen is what fails in a datacenter that an account may not see, or not read. A vCenter refuses nothing then: it has
// nothing to show. The VMs of nodes themselves the driver sees by the role that it has on them.
func unseen() []Failure {
	return append(failures("vm not found", InitializeNode, ZoneOfNode, ShutdownNode), unplaced()...)
}

// unplaced is what fails where the driver does not see hosts and clusters, whose tags are topology.
func unplaced() []Failure {
	return failures(`no tag of category "k8s-zone"`, NodeTopology, CreateVolume, CreateWithPolicy, CreateFrom)
}

// Operation is something that the cloud provider or the driver does, in words.
type Operation string

// What the cloud provider does for a node.
const (
	InitializeNode Operation = "initialize a node"
	ZoneOfNode     Operation = "label a node with region and zone"
	ShutdownNode   Operation = "tell that a node's VM is off"
)

// What the driver does for a volume.
const (
	NodeTopology     Operation = "tell a node its topology"
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

// Always are the privileges that vCenter puts into every role.
func Always() []Privilege {
	return []Privilege{
		{ID: "System.Anonymous", Label: "none", Need: Nobody, Why: "no call of the cloud provider or the driver asks for it"},
		{
			ID: "System.View", Label: "none", Need: Everybody, Calls: []string{"CreateContainerView", "FindByUuid"},
			Why: "an object without it is not there, for whoever asks", Without: unseen(),
		},
		{
			ID: "System.Read", Label: "none", Need: Everybody, Calls: []string{"RetrievePropertiesEx", "WaitForUpdatesEx"},
			Why: "properties of objects, and their tags", Without: unseen(),
		},
	}
}

// ReadOnly is vCenter's own role.
func ReadOnly() Role { return Role{Name: "ReadOnly", System: true, Privileges: Always()} }

// Search is the role for cloud native storage as such.
func Search() Role {
	return Role{Name: "CNS-SEARCH-AND-SPBM", Privileges: []Privilege{
		{
			ID: "Cns.Searchable", Label: "CNS > Searchable", Need: Everybody,
			Calls: []string{"CnsQueryVolume", "CnsQuerySnapshots", "CnsCreateVolume", "CnsExtendVolume", "CnsCreateSnapshots", "CnsDeleteSnapshots", "CnsDeleteVolume", "CnsUpdateVolumeMetadata"},
			Why:   "all that is done to volumes, and every look for one",
			Without: failures("needs Cns.Searchable on Folder:", CreateVolume, CreateWithPolicy, CreateFrom, ExpandVolume, TakeSnapshot,
				DeleteSnapshot, ListVolumes, ListSnapshots, DeleteVolume),
		},
		{
			ID: "StorageProfile.View", Label: "VM storage policies > View VM storage policies", Need: Everybody,
			Calls: []string{"PbmQueryProfile", "PbmRetrieveContent", "PbmCheckRequirements"},
			Why:   "StorageClasses with storagepolicyname", Without: failures("needs StorageProfile.View on Folder:", CreateWithPolicy),
		},
	}}
}

// Volumes is the role for datastores.
func Volumes() Role {
	return Role{Name: "CNS-DATASTORE", Privileges: []Privilege{{
		ID: "Datastore.FileManagement", Label: "Datastore > Low level file operations", Need: Everybody,
		Calls: []string{"CnsCreateVolume", "CnsExtendVolume", "CnsCreateSnapshots", "CnsDeleteSnapshots", "CnsDeleteVolume"},
		Why:   "the files of volumes", Without: written(),
	}}}
}

// Attach is the role for the VMs of nodes.
func Attach() Role {
	return Role{Name: "CNS-VM", Privileges: []Privilege{
		{
			ID: "VirtualMachine.Config.AddExistingDisk", Label: "Virtual machine > Change Configuration > Add existing disk",
			Need: Everybody, Calls: []string{"CnsAttachVolume"}, Why: "a volume is a disk that exists",
			Without: failures("needs VirtualMachine.Config.AddExistingDisk on VirtualMachine:", AttachVolume),
		},
		{
			ID: "VirtualMachine.Config.AddRemoveDevice", Label: "Virtual machine > Change Configuration > Add or remove device",
			Need: Everybody, Calls: []string{"CnsAttachVolume", "CnsDetachVolume"}, Why: "a disk is a device",
			Without: failures("needs VirtualMachine.Config.AddRemoveDevice on VirtualMachine:", AttachVolume, DetachVolume),
		},
	}}
}

// HostConfig is the role for file volumes.
func HostConfig() Role {
	return Role{Name: "CNS-HOST-CONFIG-STORAGE", Option: FileVolumes, Privileges: []Privilege{{
		ID: "Host.Config.Storage", Label: "Host > Configuration > Storage partition configuration", Need: Upstream,
		Calls: []string{"HasUserPrivilegeOnEntities"},
		Why:   "upstream's driver makes file volumes where its account has it; this module's driver has no file volumes, and makes no call that asks for it",
	}}}
}

// Roles are all roles, those for an option last.
func Roles() []Role { return []Role{ReadOnly(), Search(), Volumes(), Attach(), HostConfig()} }

// Grants are all grants, by component.
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
			Without: unplaced(),
		},
		{
			Component: CSI, Role: ReadOnly(), On: Above, Why: "tags on it, which are of all datacenters below",
			Without: failures(`no tag of category "k8s-region"`, NodeTopology, CreateVolume, CreateWithPolicy, CreateFrom),
		},
		{Component: CSI, Role: Volumes(), On: Datastore, Why: "volumes are files there", Without: written()},
		{
			Component: CSI, Role: Attach(), On: Machines, Propagate: true, Why: "volumes are attached to them",
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
