package profile

import (
	"github.com/vmware/govmomi/pbm/methods"
	pbm "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/vim25/soap"
	vim "github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/policy"
)

// solver is the PbmPlacementSolver.
type solver struct {
	vim.ManagedObjectReference
	s *Service
}

// check is what a datastore has to meet: all of them.
type check func(policy.Datastore) []policy.Unmet

// results judges datastores, all when none is named.
func (s *Service) results(hubs []pbm.PbmPlacementHub, checks ...check) []pbm.PbmPlacementCompatibilityResult {
	if len(hubs) == 0 {
		hubs = s.hubs()
	}
	all := make([]pbm.PbmPlacementCompatibilityResult, 0, len(hubs))
	for _, h := range hubs {
		r := pbm.PbmPlacementCompatibilityResult{Hub: h}
		d, ok := s.datastore(h)
		if !ok {
			r.Error = []vim.LocalizedMethodFault{{
				Fault: &pbm.PbmNonExistentHubs{Hubs: []pbm.PbmPlacementHub{h}}, LocalizedMessage: "Datastore does not exist.",
			}}
		} else {
			for _, c := range checks {
				r.Error = append(r.Error, mismatches(h, c(d))...)
			}
		}
		all = append(all, r)
	}
	return all
}

// mismatches are unmet rules as PBM tells them.
func mismatches(h pbm.PbmPlacementHub, unmet []policy.Unmet) []vim.LocalizedMethodFault {
	var all []vim.LocalizedMethodFault
	for _, u := range unmet {
		f := new(pbm.PbmCapabilityProfilePropertyMismatchFault)
		f.Hub, f.CapabilityInstanceId, f.RequirementPropertyInstance = h, u.Capability, u.Property
		f.ResourcePropertyInstance = pbm.PbmCapabilityPropertyInstance{Id: u.Property.Id, Value: ""}
		if u.Property.Value == nil {
			f.RequirementPropertyInstance.Value = ""
		}
		all = append(all, vim.LocalizedMethodFault{
			Fault: f, LocalizedMessage: "Datastore does not satisfy required properties.",
		})
	}
	return all
}

// matching are the hubs without an error.
func matching(results []pbm.PbmPlacementCompatibilityResult) []pbm.PbmPlacementHub {
	var all []pbm.PbmPlacementHub
	for _, r := range results {
		if len(r.Error) == 0 {
			all = append(all, r.Hub)
		}
	}
	return all
}

func ofProfile(p *pbm.PbmCapabilityProfile) check {
	return func(d policy.Datastore) []policy.Unmet { return policy.Check(p, d) }
}

func ofConstraints(c pbm.BasePbmCapabilityConstraints) check {
	return func(d policy.Datastore) []policy.Unmet { return policy.CheckConstraints(c, d) }
}

// PbmCheckCompatibility judges datastores by a profile.
func (v *solver) PbmCheckCompatibility(req *pbm.PbmCheckCompatibility) soap.HasFault {
	p := v.s.Find(req.Profile.UniqueId)
	if p == nil {
		return &methods.PbmCheckCompatibilityBody{Fault_: fault(unknownProfile())}
	}
	return &methods.PbmCheckCompatibilityBody{Res: &pbm.PbmCheckCompatibilityResponse{
		Returnval: v.s.results(req.HubsToSearch, ofProfile(p)),
	}}
}

// PbmCheckCompatibilityWithSpec judges datastores by a profile that there is not.
func (v *solver) PbmCheckCompatibilityWithSpec(req *pbm.PbmCheckCompatibilityWithSpec) soap.HasFault {
	return &methods.PbmCheckCompatibilityWithSpecBody{Res: &pbm.PbmCheckCompatibilityWithSpecResponse{
		Returnval: v.s.results(req.HubsToSearch, ofConstraints(req.ProfileSpec.Constraints)),
	}}
}

// PbmCheckRequirements judges datastores by several requirements; those of capacity and zones are not looked at.
func (v *solver) PbmCheckRequirements(req *pbm.PbmCheckRequirements) soap.HasFault {
	var checks []check
	for _, one := range req.PlacementSubjectRequirement {
		switch r := one.(type) {
		case *pbm.PbmPlacementCapabilityProfileRequirement:
			p := v.s.Find(r.ProfileId.UniqueId)
			if p == nil {
				return &methods.PbmCheckRequirementsBody{Fault_: fault(unknownProfile())}
			}
			checks = append(checks, ofProfile(p))
		case *pbm.PbmPlacementCapabilityConstraintsRequirement:
			checks = append(checks, ofConstraints(r.Constraints))
		}
	}
	return &methods.PbmCheckRequirementsBody{Res: &pbm.PbmCheckRequirementsResponse{Returnval: v.s.results(req.HubsToSearch, checks...)}}
}

// PbmQueryMatchingHub lists the datastores that meet a profile.
func (v *solver) PbmQueryMatchingHub(req *pbm.PbmQueryMatchingHub) soap.HasFault {
	p := v.s.Find(req.Profile.UniqueId)
	if p == nil {
		return &methods.PbmQueryMatchingHubBody{Fault_: fault(unknownProfile())}
	}
	return &methods.PbmQueryMatchingHubBody{Res: &pbm.PbmQueryMatchingHubResponse{
		Returnval: matching(v.s.results(req.HubsToSearch, ofProfile(p))),
	}}
}

// PbmQueryMatchingHubWithSpec lists the datastores that meet a profile that there is not.
func (v *solver) PbmQueryMatchingHubWithSpec(req *pbm.PbmQueryMatchingHubWithSpec) soap.HasFault {
	return &methods.PbmQueryMatchingHubWithSpecBody{Res: &pbm.PbmQueryMatchingHubWithSpecResponse{
		Returnval: matching(v.s.results(req.HubsToSearch, ofConstraints(req.CreateSpec.Constraints))),
	}}
}
