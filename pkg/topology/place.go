package topology

// Place is the region and zone that a VM is effectively in: those of the nearest ancestor that has one, each on its own,
// from the VM's host over its compute cluster and datacenter to the datacenter's folders, the innermost first. This is
// what a cloud provider has to find out through tags, so it is what tests expect of one. Both are empty where no
// ancestor has any.
func (t *Topology) Place(ref VMRef) Place {
	var place Place
	near := func(p Place) {
		fill(&place.Region, p.Region)
		fill(&place.Zone, p.Zone)
	}
	cluster, host := ref.Datacenter.Host(ref.VM.Host)
	if host != nil {
		near(host.Place)
	}
	if cluster != nil {
		near(cluster.Place)
	}
	near(ref.Datacenter.Place)
	for path := range ancestors(ref.Datacenter.Folder) {
		for _, folder := range ref.VCenter.Folders {
			if folder.Path == path {
				near(folder.Place)
			}
		}
	}
	return place
}
