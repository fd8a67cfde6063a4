package topology

// bounded reports NICs and addresses that are too many, before they are multiplied, and drops them.
func (g replicas) bounded(nics []NIC) []NIC {
	at := g.at.key("nics")
	nics = few(g.problems, nics, maxNICs, at, "a VM")
	for i, nic := range nics {
		if len(nic.Addresses) > maxAddresses {
			few(g.problems, nic.Addresses, maxAddresses, at.item(i).key("addresses"), "a NIC")
			return nil
		}
	}
	return nics
}

func (g replicas) boundedMarks(m Marks) Marks {
	m.Tags = few(g.problems, m.Tags, maxTags, g.at.key("tags"), "an object")
	m.Permissions = few(g.problems, m.Permissions, maxPermissions, g.at.key("permissions"), "an object")
	return m
}

// few reports a list that is too long and drops it.
func few[T any](p *problems, list []T, most int, at *path, whose string) []T {
	if len(list) <= most {
		return list
	}
	p.field(at, "", "are %d, more than the %d %s can have", len(list), most, whose)
	return nil
}
