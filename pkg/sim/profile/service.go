package profile

import (
	"sync"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/pbm/methods"
	pbmsim "github.com/vmware/govmomi/pbm/simulator"
	pbm "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	vim "github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/policy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Options configures [New].
type Options struct {
	// Base is the context of the vCenter. Required.
	Base *simulator.Context
	// InstanceUUID is the vCenter's UUID, from which identifiers of profiles are derived.
	InstanceUUID string
	// Tags returns the tags of a datastore. It is called without locks of this package. Nil: no tags.
	Tags func(datastore vc.Ref) []topology.Tag
	// Uses returns the uses of profiles. It is called without locks of this package. Nil: no uses.
	Uses func() []Use
}

// Use is an object that uses a profile.
type Use struct {
	Profile string // its identifier
	Object  pbm.PbmServerObjectRef
}

// Service is the storage policy service of one vCenter. Create one with [New]. Its methods are safe for concurrent use; the
// registered methods named Pbm… are PBM's API.
type Service struct {
	opts      Options
	namespace uuid.UUID

	mu sync.RWMutex // innermost: nothing is called while it is held
	// profiles are in the order of creation. They are replaced, never changed.
	profiles []*pbm.PbmCapabilityProfile
	made     map[string]int // the number of profiles ever created with a name
}

// New returns the service of a vCenter with the built-in profiles. pbmsim.New must not run at the same time, because it writes to
// what New reads; the same holds for [Service.Registry].
func New(o Options) *Service {
	namespace, err := uuid.Parse(o.InstanceUUID)
	if err != nil { // of a saved inventory
		namespace = uuid.NewSHA1(uuid.Nil, []byte(o.InstanceUUID))
	}
	if o.Tags == nil {
		o.Tags = func(vc.Ref) []topology.Tag { return nil }
	}
	if o.Uses == nil {
		o.Uses = func() []Use { return nil }
	}
	return &Service{opts: o, namespace: namespace, profiles: builtIn(), made: map[string]int{}}
}

// Registry returns the registry for Service.RegisterSDK.
func (s *Service) Registry() *simulator.Registry {
	r := pbmsim.New()
	for _, kind := range []string{"PbmServiceInstance", "PbmProfileProfileManager", "PbmPlacementSolver"} {
		for _, obj := range r.AllReference(kind) {
			switch obj := obj.(type) {
			case *pbmsim.ServiceInstance:
				obj.Content.AboutInfo.InstanceUuid = s.opts.InstanceUUID
			case *pbmsim.ProfileManager:
				r.Put(&manager{obj.ManagedObjectReference, s})
			case *pbmsim.PlacementSolver:
				r.Put(&solver{obj.ManagedObjectReference, s})
			}
		}
	}
	return r
}

// builtIn copies vcsim's profiles.
func builtIn() []*pbm.PbmCapabilityProfile {
	var own []*pbm.PbmCapabilityProfile
	for _, obj := range pbmsim.New().AllReference("PbmProfileProfileManager") {
		m, ok := obj.(*pbmsim.ProfileManager)
		if !ok {
			continue
		}
		for _, p := range stock(m) {
			if p, ok := p.(*pbm.PbmCapabilityProfile); ok {
				c := *p // what it points to does not change
				own = append(own, &c)
			}
		}
	}
	return own
}

// stock returns the profiles of vcsim's manager, from an unexported variable.
func stock(m *pbmsim.ProfileManager) []pbm.BasePbmProfile {
	found, ok := m.PbmQueryProfile(&pbm.PbmQueryProfile{ResourceType: policy.Storage()}).(*methods.PbmQueryProfileBody)
	if !ok || found.Res == nil || len(found.Res.Returnval) == 0 {
		return nil
	}
	all, ok := m.PbmRetrieveContent(&pbm.PbmRetrieveContent{ProfileIds: found.Res.Returnval}).(*methods.PbmRetrieveContentBody)
	if !ok || all.Res == nil {
		return nil
	}
	return all.Res.Returnval
}

// solver is the PbmPlacementSolver.
type solver struct {
	vim.ManagedObjectReference
	s *Service
}

// check is a condition for datastores.
type check func(policy.Datastore) []policy.Unmet

// results checks datastores, or all datastores if none is named.
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

// mismatches converts unmet rules to PBM.
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

// matching returns the hubs without an error.
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

// PbmCheckCompatibility checks datastores against a profile.
func (v *solver) PbmCheckCompatibility(req *pbm.PbmCheckCompatibility) soap.HasFault {
	p := v.s.Find(req.Profile.UniqueId)
	if p == nil {
		return &methods.PbmCheckCompatibilityBody{Fault_: fault(unknownProfile())}
	}
	return &methods.PbmCheckCompatibilityBody{Res: &pbm.PbmCheckCompatibilityResponse{
		Returnval: v.s.results(req.HubsToSearch, ofProfile(p)),
	}}
}

// PbmCheckCompatibilityWithSpec checks datastores against the spec of a profile.
func (v *solver) PbmCheckCompatibilityWithSpec(req *pbm.PbmCheckCompatibilityWithSpec) soap.HasFault {
	return &methods.PbmCheckCompatibilityWithSpecBody{Res: &pbm.PbmCheckCompatibilityWithSpecResponse{
		Returnval: v.s.results(req.HubsToSearch, ofConstraints(req.ProfileSpec.Constraints)),
	}}
}

// PbmCheckRequirements checks datastores against several requirements, ignoring those of capacity and zones.
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

// PbmQueryMatchingHubWithSpec lists the datastores that meet the spec of a profile.
func (v *solver) PbmQueryMatchingHubWithSpec(req *pbm.PbmQueryMatchingHubWithSpec) soap.HasFault {
	return &methods.PbmQueryMatchingHubWithSpecBody{Res: &pbm.PbmQueryMatchingHubWithSpecResponse{
		Returnval: matching(v.s.results(req.HubsToSearch, ofConstraints(req.CreateSpec.Constraints))),
	}}
}
