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

// manager is the PbmProfileProfileManager.
type manager struct {
	vim.ManagedObjectReference
	s *Service
}

func fault(f vim.BaseMethodFault) *soap.Fault { return simulator.Fault("", f) }

func userOf(ctx *simulator.Context) string {
	if ctx.Session == nil {
		return ""
	}
	return ctx.Session.UserName
}

// PbmFetchResourceType lists the types of resources that have profiles.
func (m *manager) PbmFetchResourceType(*pbm.PbmFetchResourceType) soap.HasFault {
	return &methods.PbmFetchResourceTypeBody{Res: &pbm.PbmFetchResourceTypeResponse{
		Returnval: []pbm.PbmProfileResourceType{policy.Storage()},
	}}
}

// PbmQueryProfile lists identifiers.
func (m *manager) PbmQueryProfile(req *pbm.PbmQueryProfile) soap.HasFault {
	res := new(pbm.PbmQueryProfileResponse)
	for _, p := range m.s.List() {
		if p.ResourceType == req.ResourceType && (req.ProfileCategory == "" || p.ProfileCategory == req.ProfileCategory) {
			res.Returnval = append(res.Returnval, p.ProfileId)
		}
	}
	return &methods.PbmQueryProfileBody{Res: res}
}

// PbmQueryProfileDetails lists profiles with the details that the vSphere Client shows.
func (m *manager) PbmQueryProfileDetails(req *pbm.PbmQueryProfileDetails) soap.HasFault {
	res := new(pbm.PbmQueryProfileDetailsResponse)
	for _, p := range m.s.List() {
		if req.ProfileCategory == "" || p.ProfileCategory == req.ProfileCategory {
			res.Returnval = append(res.Returnval, pbm.PbmProfileDetails{Profile: p, IofInfos: filters(p)})
		}
	}
	return &methods.PbmQueryProfileDetailsBody{Res: res}
}

// PbmRetrieveContent returns profiles.
func (m *manager) PbmRetrieveContent(req *pbm.PbmRetrieveContent) soap.HasFault {
	if len(req.ProfileIds) == 0 {
		return &methods.PbmRetrieveContentBody{Fault_: fault(new(vim.InvalidRequest))}
	}
	res := new(pbm.PbmRetrieveContentResponse)
	for _, id := range req.ProfileIds {
		p := m.s.Find(id.UniqueId)
		if p == nil {
			return &methods.PbmRetrieveContentBody{Fault_: fault(unknownProfile())}
		}
		res.Returnval = append(res.Returnval, p)
	}
	return &methods.PbmRetrieveContentBody{Res: res}
}

// PbmCreate makes a profile.
func (m *manager) PbmCreate(ctx *simulator.Context, req *pbm.PbmCreate) soap.HasFault {
	id, f := m.s.create(&req.CreateSpec, userOf(ctx))
	if f != nil {
		return &methods.PbmCreateBody{Fault_: fault(f)}
	}
	return &methods.PbmCreateBody{Res: &pbm.PbmCreateResponse{Returnval: pbm.PbmProfileId{UniqueId: id}}}
}

// PbmUpdate changes a profile.
func (m *manager) PbmUpdate(ctx *simulator.Context, req *pbm.PbmUpdate) soap.HasFault {
	if f := m.s.update(req.ProfileId.UniqueId, &req.UpdateSpec, userOf(ctx)); f != nil {
		return &methods.PbmUpdateBody{Fault_: fault(f)}
	}
	return &methods.PbmUpdateBody{Res: new(pbm.PbmUpdateResponse)}
}

// PbmDelete deletes profiles, and returns the errors.
func (m *manager) PbmDelete(req *pbm.PbmDelete) soap.HasFault {
	used := map[string]bool{}
	for _, u := range m.s.opts.Uses() {
		used[u.Profile] = true
	}
	res := new(pbm.PbmDeleteResponse)
	for _, id := range req.ProfileId {
		if f := m.s.remove(id.UniqueId, used[id.UniqueId]); f != nil {
			res.Returnval = append(res.Returnval, pbm.PbmProfileOperationOutcome{
				ProfileId: id, Fault: &vim.LocalizedMethodFault{Fault: f, LocalizedMessage: "The profile is in use or not known."},
			})
		}
	}
	return &methods.PbmDeleteBody{Res: res}
}

// PbmQueryIOFiltersFromProfileId lists the I/O filters of profiles.
func (m *manager) PbmQueryIOFiltersFromProfileId(req *pbm.PbmQueryIOFiltersFromProfileId) soap.HasFault {
	res := new(pbm.PbmQueryIOFiltersFromProfileIdResponse)
	for _, id := range req.ProfileIds {
		p := m.s.Find(id.UniqueId)
		if p == nil {
			return &methods.PbmQueryIOFiltersFromProfileIdBody{Fault_: simulator.Fault("Invalid profile ID", new(vim.RuntimeFault))}
		}
		if list := filters(p); len(list) > 0 {
			res.Returnval = append(res.Returnval, pbm.PbmProfileToIofilterMap{Key: id, Iofilters: list})
		}
	}
	return &methods.PbmQueryIOFiltersFromProfileIdBody{Res: res}
}

// filters returns the I/O filters of a profile: encryption, for the built-in profile.
func filters(p *pbm.PbmCapabilityProfile) []pbm.PbmIofilterInfo {
	if p.Name == policy.Encryption {
		return []pbm.PbmIofilterInfo{{FilterType: string(pbm.PbmIofilterInfoFilterTypeENCRYPTION)}}
	}
	return nil
}

// PbmResolveK8sCompliantNames is not supported: it belongs to the Supervisor.
func (m *manager) PbmResolveK8sCompliantNames(*pbm.PbmResolveK8sCompliantNames) soap.HasFault {
	return &methods.PbmResolveK8sCompliantNamesBody{Fault_: fault(new(vim.NotSupported))}
}

// PbmUpdateK8sCompliantNames is not supported: it belongs to the Supervisor.
func (m *manager) PbmUpdateK8sCompliantNames(*pbm.PbmUpdateK8sCompliantNames) soap.HasFault {
	return &methods.PbmUpdateK8sCompliantNamesBody{Fault_: fault(new(vim.NotSupported))}
}
