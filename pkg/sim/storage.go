package sim

import (
	pbm "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/policy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/profile"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Policy is a storage policy of a vCenter.
type Policy struct {
	// ID is the identifier for volumes and CNS, the same in each run.
	ID, Name, Description string
	// BuiltIn is set for the policies of every vCenter.
	BuiltIn bool
	// Datastores currently meet the policy, by their tags and types.
	Datastores []types.ManagedObjectReference
}

// Policies returns the vCenter's storage policies in the order of creation: built-in ones, then those of the topology and of
// clients.
func (v *VCenter) Policies() []Policy {
	var all []Policy
	for _, p := range v.service.policies.List() {
		all = append(all, Policy{
			ID: p.ProfileId.UniqueId, Name: p.Name, Description: p.Description,
			BuiltIn: policy.BuiltIn(p), Datastores: v.service.policies.Datastores(p.ProfileId.UniqueId),
		})
	}
	return all
}

// Compatible reports whether a datastore meets the storage policy with that identifier: every datastore meets the empty one, and
// none an unknown one. It locks the datastore.
func (v *VCenter) Compatible(profile string, datastore types.ManagedObjectReference) bool {
	return v.service.policies.Compatible(profile, datastore)
}

// newPolicies returns the storage policy service of the vCenter with that instance UUID.
func (s *service) newPolicies(instance string) *profile.Service {
	return profile.New(profile.Options{Base: s.ctx, InstanceUUID: instance, Tags: s.tagsOn, Uses: s.policyUses})
}

// policyUses returns the volumes with a storage policy.
func (s *service) policyUses() []profile.Use {
	var all []profile.Use
	for _, v := range s.volumes.Volumes() {
		if v.PolicyID != "" {
			all = append(all, profile.Use{Profile: v.PolicyID, Object: pbm.PbmServerObjectRef{
				ObjectType: string(pbm.PbmObjectTypeVirtualDiskUUID), Key: v.ID,
			}})
		}
	}
	return all
}

// tagsOn returns the tags of an object.
func (s *service) tagsOn(ref vc.Ref) []topology.Tag {
	var all []topology.Tag
	for _, id := range s.rest.Tags(ref) {
		if category, name, fault := s.rest.GetTagCategoryAndName(id); fault == nil {
			all = append(all, topology.Tag{Category: category, Name: name})
		}
	}
	return all
}
