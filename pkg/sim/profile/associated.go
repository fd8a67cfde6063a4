package profile

import (
	"strings"

	"github.com/vmware/govmomi/pbm/methods"
	pbm "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/vim25/soap"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// PbmQueryAssociatedProfile lists the profiles that are applied to an object.
func (m *manager) PbmQueryAssociatedProfile(req *pbm.PbmQueryAssociatedProfile) soap.HasFault {
	return &methods.PbmQueryAssociatedProfileBody{Res: &pbm.PbmQueryAssociatedProfileResponse{
		Returnval: profilesOf(m.s.opts.Uses(), req.Entity),
	}}
}

// PbmQueryAssociatedProfiles does it for several objects.
func (m *manager) PbmQueryAssociatedProfiles(req *pbm.PbmQueryAssociatedProfiles) soap.HasFault {
	uses, res := m.s.opts.Uses(), new(pbm.PbmQueryAssociatedProfilesResponse)
	for _, object := range req.Entities {
		res.Returnval = append(res.Returnval, pbm.PbmQueryProfileResult{Object: object, ProfileId: profilesOf(uses, object)})
	}
	return &methods.PbmQueryAssociatedProfilesBody{Res: res}
}

func profilesOf(uses []Use, object pbm.PbmServerObjectRef) []pbm.PbmProfileId {
	var ids []pbm.PbmProfileId
	for _, u := range uses {
		if u.Object.ObjectType == object.ObjectType && u.Object.Key == object.Key {
			ids = append(ids, pbm.PbmProfileId{UniqueId: u.Profile})
		}
	}
	return ids
}

// PbmQueryAssociatedEntity lists the objects that a profile is applied to.
func (m *manager) PbmQueryAssociatedEntity(req *pbm.PbmQueryAssociatedEntity) soap.HasFault {
	if m.s.Find(req.Profile.UniqueId) == nil {
		return &methods.PbmQueryAssociatedEntityBody{Fault_: fault(unknownProfile())}
	}
	res := new(pbm.PbmQueryAssociatedEntityResponse)
	for _, u := range m.s.opts.Uses() {
		if u.Profile == req.Profile.UniqueId && (req.EntityType == "" || req.EntityType == u.Object.ObjectType) {
			res.Returnval = append(res.Returnval, u.Object)
		}
	}
	return &methods.PbmQueryAssociatedEntityBody{Res: res}
}

// PbmQueryAssociatedEntities lists the objects that several profiles are applied to, of all when none is named.
func (m *manager) PbmQueryAssociatedEntities(req *pbm.PbmQueryAssociatedEntities) soap.HasFault {
	named := map[string]bool{}
	for _, id := range req.Profiles {
		named[id.UniqueId] = true
	}
	res := new(pbm.PbmQueryAssociatedEntitiesResponse)
	for _, u := range m.s.opts.Uses() {
		if len(named) == 0 || named[u.Profile] {
			res.Returnval = append(res.Returnval, pbm.PbmQueryProfileResult{
				Object: u.Object, ProfileId: []pbm.PbmProfileId{{UniqueId: u.Profile}},
			})
		}
	}
	return &methods.PbmQueryAssociatedEntitiesBody{Res: res}
}

// defaultOf is the profile that a datastore of that type gives what has none of its own; nil for most.
func (s *Service) defaultOf(kind string) *pbm.PbmCapabilityProfile {
	var want pbm.PbmSystemCreatedProfileType
	switch strings.ToLower(kind) {
	case string(topology.VSAN):
		want = pbm.PbmSystemCreatedProfileTypeVsanDefaultProfile
	case string(topology.VVOL):
		want = pbm.PbmSystemCreatedProfileTypeVVolDefaultProfile
	default:
		return nil
	}
	for _, p := range s.List() {
		if p.SystemCreatedProfileType == string(want) {
			return p
		}
	}
	return nil
}

// PbmQueryDefaultRequirementProfile returns the default profile of a datastore.
func (m *manager) PbmQueryDefaultRequirementProfile(req *pbm.PbmQueryDefaultRequirementProfile) soap.HasFault {
	d, ok := m.s.datastore(req.Hub)
	if !ok {
		return &methods.PbmQueryDefaultRequirementProfileBody{Fault_: fault(&pbm.PbmNonExistentHubs{Hubs: []pbm.PbmPlacementHub{req.Hub}})}
	}
	res := new(pbm.PbmQueryDefaultRequirementProfileResponse)
	if p := m.s.defaultOf(d.Type); p != nil {
		res.Returnval = &p.ProfileId
	}
	return &methods.PbmQueryDefaultRequirementProfileBody{Res: res}
}

// PbmQueryDefaultRequirementProfiles does it for several datastores.
func (m *manager) PbmQueryDefaultRequirementProfiles(req *pbm.PbmQueryDefaultRequirementProfiles) soap.HasFault {
	res := new(pbm.PbmQueryDefaultRequirementProfilesResponse)
	for _, hub := range req.Datastores {
		info := pbm.PbmDefaultProfileInfo{Datastores: []pbm.PbmPlacementHub{hub}}
		if d, ok := m.s.datastore(hub); ok {
			if p := m.s.defaultOf(d.Type); p != nil {
				info.DefaultProfile = p
			}
		}
		res.Returnval = append(res.Returnval, info)
	}
	return &methods.PbmQueryDefaultRequirementProfilesBody{Res: res}
}

// PbmFindApplicableDefaultProfile lists the default profiles of datastores.
func (m *manager) PbmFindApplicableDefaultProfile(req *pbm.PbmFindApplicableDefaultProfile) soap.HasFault {
	res, seen := new(pbm.PbmFindApplicableDefaultProfileResponse), map[string]bool{}
	for _, hub := range req.Datastores {
		d, ok := m.s.datastore(hub)
		if !ok {
			continue
		}
		if p := m.s.defaultOf(d.Type); p != nil && !seen[p.ProfileId.UniqueId] {
			seen[p.ProfileId.UniqueId] = true
			res.Returnval = append(res.Returnval, p)
		}
	}
	return &methods.PbmFindApplicableDefaultProfileBody{Res: res}
}
