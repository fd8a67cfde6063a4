package topology

// Place is the region and zone that a VM is effectively in: those of the nearest ancestor that has one, each on its own,
// from the VM's host over its compute cluster and datacenter to the datacenter's folders, the innermost first, and the
// root folder. Tags that objects carry in the two categories count as region: and zone: do; of several, the first. This
// is what a cloud provider has to find out, so it is what tests expect of one. Both are empty where no ancestor has any.
func (t *Topology) Place(ref VMRef) Place {
	cluster, host := ref.Datacenter.Host(ref.VM.Host)
	return t.placeOf(ref.VCenter, ref.Datacenter, cluster, host)
}

// placeOf is the region and zone of the VMs on a host; cluster and host may be nil.
func (t *Topology) placeOf(vcenter *VCenter, dc *Datacenter, cluster *Cluster, host *Host) Place {
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
	if host != nil {
		near(host.Place, host.Tags)
	}
	if cluster != nil {
		near(cluster.Place, cluster.Tags)
	}
	near(dc.Place, dc.Tags)
	for path := range ancestors(dc.Folder) {
		for _, folder := range vcenter.Folders {
			if folder.Path == path {
				near(folder.Place, folder.Tags)
			}
		}
	}
	near(Place{}, vcenter.Tags)
	return place
}
