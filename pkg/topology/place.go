package topology

// Place is the region and zone that a VM is effectively in: those of the nearest ancestor that has one, each on its own,
// from the VM's host over its compute cluster and datacenter to the datacenter's folders, the innermost first, and the
// root folder. Tags that objects carry in the two categories count as region: and zone: do; of several, the first. This
// is what a cloud provider has to find out, so it is what tests expect of one. Both are empty where no ancestor has any.
func (t *Topology) Place(ref VMRef) Place {
	var place Place
	near := func(p Place, tags []Tag) {
		fill(&place.Region, p.Region)
		fill(&place.Zone, p.Zone)
		for _, tag := range tags {
			switch tag.Category {
			case t.Spec.Categories.Region:
				fill(&place.Region, tag.Name)
			case t.Spec.Categories.Zone:
				fill(&place.Zone, tag.Name)
			}
		}
	}
	cluster, host := ref.Datacenter.Host(ref.VM.Host)
	if host != nil {
		near(host.Place, host.Tags)
	}
	if cluster != nil {
		near(cluster.Place, cluster.Tags)
	}
	near(ref.Datacenter.Place, ref.Datacenter.Tags)
	for path := range ancestors(ref.Datacenter.Folder) {
		for _, folder := range ref.VCenter.Folders {
			if folder.Path == path {
				near(folder.Place, folder.Tags)
			}
		}
	}
	near(Place{}, ref.VCenter.Tags)
	return place
}
