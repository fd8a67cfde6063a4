package privilege

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
