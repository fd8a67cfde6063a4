package policy

import (
	pbm "github.com/vmware/govmomi/pbm/types"
	vim "github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Namespaces of capabilities.
const (
	// TagNamespace is of tags: the id is a category.
	TagNamespace = "http://www.vmware.com/storage/tag"
	// VSANNamespace is of what vSAN offers.
	VSANNamespace = "VSAN"
	// TypeNamespace is ours: the one capability in it, [TypeID], is the type of a datastore.
	TypeNamespace = "sandbox.vsphere"
	TypeID        = "datastoreType"
)

// Spec is what PBM is told to make a topology's policy: one rule set with a rule for each tag, and one for the types.
func Spec(p *topology.Policy) pbm.PbmCapabilityProfileCreateSpec {
	rules := make([]pbm.PbmCapabilityInstance, 0, len(p.Tags)+1)
	name := "Tag based placement" // as vSphere Client calls it
	for _, tag := range p.Tags {
		rules = append(rules, rule(TagNamespace, tag.Category, "com.vmware.storage.tag."+tag.Category+".property", tag.Name))
	}
	if len(p.Types) > 0 {
		rules = append(rules, rule(TypeNamespace, TypeID, TypeID, p.Types...))
	}
	if len(p.Tags) == 0 {
		name = "Type based placement"
	}
	return pbm.PbmCapabilityProfileCreateSpec{
		Name:         p.Name,
		Description:  p.Description,
		Category:     string(pbm.PbmProfileCategoryEnumREQUIREMENT),
		ResourceType: Storage(),
		Constraints: &pbm.PbmCapabilitySubProfileConstraints{
			SubProfiles: []pbm.PbmCapabilitySubProfile{{Name: name, Capability: rules}},
		},
	}
}

// Storage is the only type of resource that policies are about.
func Storage() pbm.PbmProfileResourceType {
	return pbm.PbmProfileResourceType{ResourceType: string(pbm.PbmProfileResourceTypeEnumSTORAGE)}
}

// rule asks for one of the values.
func rule[T ~string](namespace, id, property string, values ...T) pbm.PbmCapabilityInstance {
	set := pbm.PbmCapabilityDiscreteSet{}
	for _, v := range values {
		set.Values = append(set.Values, vim.AnyType(string(v)))
	}
	return pbm.PbmCapabilityInstance{
		Id: pbm.PbmCapabilityMetadataUniqueId{Namespace: namespace, Id: id},
		Constraint: []pbm.PbmCapabilityConstraintInstance{{
			PropertyInstance: []pbm.PbmCapabilityPropertyInstance{{Id: property, Value: set}},
		}},
	}
}
