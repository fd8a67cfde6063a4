package privilege

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
