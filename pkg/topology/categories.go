package topology

import "slices"

// AllCategories are the tag categories that every vCenter of the topology has, with defaults: first those of
// [Spec.Categories], with what [Spec.TagCategories] has to say of them, then the others.
func (s *Spec) AllCategories() []TagCategory {
	region, zone := s.Categories.Region, s.Categories.Zone
	fill(&region, defaultRegionCategory)
	fill(&zone, defaultZoneCategory)
	all := []TagCategory{
		{Name: region, Description: "Regions of Kubernetes nodes", Types: placeable()},
		{Name: zone, Description: "Zones of Kubernetes nodes", Types: placeable()},
	}
	for _, category := range s.TagCategories {
		switch category.Name {
		case region:
			fill(&category.Description, all[0].Description)
			all[0] = category
		case zone:
			fill(&category.Description, all[1].Description)
			all[1] = category
		default:
			all = append(all, category)
		}
	}
	for i := range all {
		fill(&all[i].Cardinality, CardinalitySingle)
	}
	return all
}

// The types of object that carry tags, as vSphere's tagging calls them.
const (
	typeFolder     = "Folder"
	typeDatacenter = "Datacenter"
	typeCluster    = "ClusterComputeResource"
	typeHost       = "HostSystem"
	typePool       = "ResourcePool"
	typeVApp       = "VirtualApp"
	typeVM         = "VirtualMachine"
	typeDatastore  = "Datastore"
	typeNetwork    = "Network"
	typePortGroup  = "DistributedVirtualPortgroup"
	typeSwitch     = "VmwareDistributedVirtualSwitch"
	typeAnySwitch  = "DistributedVirtualSwitch"
	typeCompute    = "ComputeResource"
)

// placeable are the types of object that may be a region or a zone unless the file says otherwise: those on the way from
// a VM's host to the root folder.
func placeable() []string {
	return []string{typeDatacenter, typeFolder, typeCluster, typeCompute, typeHost}
}

// taggable are the types that a category may name: those of a topology's objects, and others of vSphere.
func taggable() []string {
	return []string{
		typeFolder, typeDatacenter, typeCluster, typeCompute, typeHost, typePool, typeVApp, typeVM, typeDatastore,
		typeNetwork, typePortGroup, typeSwitch, typeAnySwitch,
		"HostNetwork", "OpaqueNetwork", "StoragePod", "com.vmware.content.Library", "com.vmware.content.library.Item",
	}
}

// isFor reports whether the category's tags may be attached to objects of that type.
func (c *TagCategory) isFor(kind string) bool {
	return len(c.Types) == 0 || slices.Contains(c.Types, kind) ||
		kind == typeSwitch && slices.Contains(c.Types, typeAnySwitch)
}

func checkCategories(p *problems, spec *Spec) {
	at := (*path)(nil).key("spec")
	names := newScope(p, "category")
	for i, category := range spec.TagCategories {
		at := at.key("tagCategories").item(i)
		checkName(p, at.key("name"), category.Name, freeName)
		names.add(category.Name, at.key("name"))
		types := newScope(p, "type")
		for j, kind := range category.Types {
			at := at.key("types").item(j)
			if !slices.Contains(taggable(), kind) {
				p.field(at, p.Nearest(kind, taggable()), "is no type of object that takes tags, such as VirtualMachine")
			}
			types.add(kind, at)
		}
	}
	twice := newScope(p, "")
	for i, kind := range spec.AllowDuplicate {
		twice.once(string(kind), at.key("allowDuplicate").item(i))
	}
	twice = newScope(p, "")
	for i, behavior := range spec.Stock {
		twice.once(string(behavior), at.key("stock").item(i))
	}
}
