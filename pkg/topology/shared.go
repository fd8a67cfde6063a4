package topology

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
