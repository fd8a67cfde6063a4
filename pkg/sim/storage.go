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
	// ID is what volumes carry and CNS takes, the same in each run.
	ID, Name, Description string
	// BuiltIn: every vCenter has it.
	BuiltIn bool
	// Datastores meet it now, by their tags and types.
	Datastores []types.ManagedObjectReference
}

// Policies are the vCenter's storage policies: those that every vCenter has, then those of the topology and of clients, in
// the order of their making.
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

// Compatible reports whether a datastore meets the storage policy of that identifier: every one meets the empty one, none
// one that there is not. It locks the datastore.
func (v *VCenter) Compatible(profile string, datastore types.ManagedObjectReference) bool {
	return v.service.policies.Compatible(profile, datastore)
}

// newPolicies makes the storage policy service of the vCenter of that instance UUID.
func (s *service) newPolicies(instance string) *profile.Service {
	return profile.New(profile.Options{Base: s.ctx, InstanceUUID: instance, Tags: s.tagsOn, Uses: s.policyUses})
}

// policyUses are the volumes that were made with a storage policy.
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

// tagsOn are the tags of an object.
func (s *service) tagsOn(ref vc.Ref) []topology.Tag {
	var all []topology.Tag
	for _, id := range s.rest.Tags(ref) {
		if category, name, fault := s.rest.GetTagCategoryAndName(id); fault == nil {
			all = append(all, topology.Tag{Category: category, Name: name})
		}
	}
	return all
}
