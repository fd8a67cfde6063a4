package topology

import "slices"

// AllCategories returns the tag categories of every vCenter of the topology, with defaults: those of [Spec.Categories], with
// their details in [Spec.TagCategories], then the others.
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

// The types of object that have tags, as in vSphere's tagging API.
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

// placeable returns the default types for regions and zones: those from a VM's host up to the root folder.
func placeable() []string {
	return []string{typeDatacenter, typeFolder, typeCluster, typeCompute, typeHost}
}

// taggable returns the types for a category: those of a topology's objects, and others of vSphere.
func taggable() []string {
	return []string{
		typeFolder, typeDatacenter, typeCluster, typeCompute, typeHost, typePool, typeVApp, typeVM, typeDatastore,
		typeNetwork, typePortGroup, typeSwitch, typeAnySwitch,
		"HostNetwork", "OpaqueNetwork", "StoragePod", "com.vmware.content.Library", "com.vmware.content.library.Item",
	}
}

// isFor reports whether the category's tags can be attached to objects of that type.
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
