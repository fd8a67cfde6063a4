package policy

import (
	"fmt"
	"slices"
	"strings"

	pbm "github.com/vmware/govmomi/pbm/types"
	vim "github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Datastore is a datastore to check.
type Datastore struct {
	// Type is the type of its file system, case-insensitively.
	Type string
	// Tags are the tags of the datastore.
	Tags []topology.Tag
}

// Unmet is a rule that a datastore does not meet.
type Unmet struct {
	Capability pbm.PbmCapabilityMetadataUniqueId
	Property   pbm.PbmCapabilityPropertyInstance
}

// Check returns the rules of a profile that the datastore does not meet, from the rule set with the fewest such rules; empty if
// the datastore meets the profile.
func Check(p *pbm.PbmCapabilityProfile, d Datastore) []Unmet {
	if p.SystemCreatedProfileType == string(pbm.PbmSystemCreatedProfileTypeVVolDefaultProfile) && !strings.EqualFold(d.Type, string(topology.VVOL)) {
		return []Unmet{{Capability: pbm.PbmCapabilityMetadataUniqueId{Namespace: "com.vmware.storage.vvol", Id: "vvol"}}}
	}
	return CheckConstraints(p.Constraints, d)
}

// CheckConstraints is [Check] for the constraints of a profile. Every datastore meets empty constraints.
func CheckConstraints(c pbm.BasePbmCapabilityConstraints, d Datastore) []Unmet {
	sets, ok := c.(*pbm.PbmCapabilitySubProfileConstraints)
	if !ok || len(sets.SubProfiles) == 0 {
		return nil
	}
	var fewest []Unmet
	for i := range sets.SubProfiles {
		unmet := checkSet(&sets.SubProfiles[i], d)
		if len(unmet) == 0 {
			return nil
		}
		if fewest == nil || len(unmet) < len(fewest) {
			fewest = unmet
		}
	}
	return fewest
}

func checkSet(set *pbm.PbmCapabilitySubProfile, d Datastore) []Unmet {
	var unmet []Unmet
	for i := range set.Capability {
		c := &set.Capability[i]
		offers := offered(c.Id, d)
		if offers == nil || met(c.Constraint, offers) {
			continue
		}
		u := Unmet{Capability: c.Id}
		if len(c.Constraint) > 0 && len(c.Constraint[0].PropertyInstance) > 0 {
			u.Property = c.Constraint[0].PropertyInstance[0]
		}
		unmet = append(unmet, u)
	}
	return unmet
}

// offered returns a func that reports which values of a capability's properties the datastore has; nil means all.
func offered(id pbm.PbmCapabilityMetadataUniqueId, d Datastore) func(value string) bool {
	switch id.Namespace {
	case TagNamespace:
		return func(value string) bool { return slices.Contains(d.Tags, topology.Tag{Category: id.Id, Name: value}) }
	case TypeNamespace:
		return func(value string) bool { return strings.EqualFold(value, d.Type) }
	case VSANNamespace:
		if strings.EqualFold(d.Type, string(topology.VSAN)) {
			return nil
		}
	case "com.vmware.storageprofile.dataservice", "vmwarevmcrypt", "com.vmware.storage.volumeallocation":
		return nil // of hosts
	}
	return func(string) bool { return false }
}

// met reports whether all properties of one of the constraints are met.
func met(constraints []pbm.PbmCapabilityConstraintInstance, offers func(string) bool) bool {
	return slices.ContainsFunc(constraints, func(c pbm.PbmCapabilityConstraintInstance) bool {
		for i := range c.PropertyInstance {
			p := &c.PropertyInstance[i]
			has := slices.ContainsFunc(values(p.Value), offers)
			if has == strings.EqualFold(p.Operator, string(pbm.PbmCapabilityOperatorNOT)) {
				return false
			}
		}
		return len(c.PropertyInstance) > 0
	})
}

// values returns the texts in a property's value.
func values(value any) []string {
	switch v := value.(type) {
	case string:
		return []string{v}
	case *pbm.PbmCapabilityDiscreteSet:
		return values(*v)
	case pbm.PbmCapabilityDiscreteSet:
		var all []string
		for _, one := range v.Values {
			if text, ok := one.(string); ok {
				all = append(all, text)
			}
		}
		return all
	}
	return nil
}

// Encryption is the only built-in profile that is not marked as created by the system.
const Encryption = "VM Encryption Policy"

// BuiltIn reports whether every vCenter has the profile.
func BuiltIn(p *pbm.PbmCapabilityProfile) bool {
	return p.SystemCreatedProfileType != "" || p.Name == Encryption
}

// Same reports whether two profiles have the same rules, regardless of their order and of names of rule sets.
func Same(a, b pbm.BasePbmCapabilityConstraints) bool { return slices.Equal(written(a), written(b)) }

// written returns a line for each rule set.
func written(c pbm.BasePbmCapabilityConstraints) []string {
	sets, ok := c.(*pbm.PbmCapabilitySubProfileConstraints)
	if !ok {
		return nil
	}
	var lines []string
	for i := range sets.SubProfiles {
		var rules []string
		for _, c := range sets.SubProfiles[i].Capability {
			for _, constraint := range c.Constraint {
				for _, p := range constraint.PropertyInstance {
					list := values(p.Value)
					if list == nil {
						list = []string{fmt.Sprint(p.Value)}
					}
					slices.Sort(list)
					rules = append(rules, fmt.Sprintf("%q", append([]string{c.Id.Namespace, c.Id.Id, p.Id, p.Operator}, list...)))
				}
			}
		}
		slices.Sort(rules)
		lines = append(lines, strings.Join(rules, " "))
	}
	slices.Sort(lines)
	return lines
}

// The namespaces of capabilities.
const (
	// TagNamespace is for tags: the ID is a category.
	TagNamespace = "http://www.vmware.com/storage/tag"
	// VSANNamespace is for capabilities of vSAN.
	VSANNamespace = "VSAN"
	// TypeNamespace is specific to the sandbox: its only capability, [TypeID], is the type of a datastore.
	TypeNamespace = "sandbox.vsphere"
	TypeID        = "datastoreType"
)

// Spec returns the PBM profile of a topology's policy: one rule set with a rule for each tag, and one for the types.
func Spec(p *topology.Policy) pbm.PbmCapabilityProfileCreateSpec {
	rules := make([]pbm.PbmCapabilityInstance, 0, len(p.Tags)+1)
	name := "Tag based placement" // the vSphere Client's name for it
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

// Storage returns the only type of resource for policies.
func Storage() pbm.PbmProfileResourceType {
	return pbm.PbmProfileResourceType{ResourceType: string(pbm.PbmProfileResourceTypeEnumSTORAGE)}
}

// rule requires one of the values.
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
