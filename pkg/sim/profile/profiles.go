package profile

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/pbm/methods"
	pbm "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	vim "github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/policy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// List returns all profiles, in the order of creation; callers must not change them.
func (s *Service) List() []*pbm.PbmCapabilityProfile {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clone(s.profiles)
}

// Find returns the profile with an identifier, or nil; callers must not change it.
func (s *Service) Find(id string) *pbm.PbmCapabilityProfile {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.find(id)
}

// find is Find with the lock held.
func (s *Service) find(id string) *pbm.PbmCapabilityProfile {
	for _, p := range s.profiles {
		if p.ProfileId.UniqueId == id {
			return p
		}
	}
	return nil
}

// Make creates the profile of a topology's policy.
func (s *Service) Make(p *topology.Policy) error {
	spec := policy.Spec(p)
	_, fault := s.create(&spec, "vpxd")
	return faultError(p.Name, fault)
}

// Restore adds a saved profile with its identifier, unless it exists.
func (s *Service) Restore(p *pbm.PbmCapabilityProfile) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.find(p.ProfileId.UniqueId) != nil {
		return nil
	}
	c := *p
	return faultError(c.Name, s.add(&c))
}

func faultError(name string, fault vim.BaseMethodFault) error {
	if fault == nil {
		return nil
	}
	return fmt.Errorf("profile %q: %T", name, fault)
}

// create creates a profile. Its identifier is the same in each run: it depends on the vCenter, the name, and the number of
// earlier profiles with that name.
func (s *Service) create(spec *pbm.PbmCapabilityProfileCreateSpec, user string) (string, vim.BaseMethodFault) {
	if spec.Name == "" {
		return "", &vim.InvalidArgument{InvalidProperty: "name"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	p := &pbm.PbmCapabilityProfile{
		PbmProfile: pbm.PbmProfile{
			Name: spec.Name, Description: spec.Description,
			CreationTime: now, CreatedBy: user, LastUpdatedTime: now, LastUpdatedBy: user,
		},
		ProfileCategory: spec.Category, ResourceType: spec.ResourceType, Constraints: spec.Constraints,
		K8sCompliantName: spec.K8sCompliantName,
	}
	p.ProfileId.UniqueId = s.identify(spec.Name)
	if fault := s.add(p); fault != nil {
		return "", fault
	}
	s.made[spec.Name]++
	return p.ProfileId.UniqueId, nil
}

// identify returns a new identifier. The caller holds the lock.
func (s *Service) identify(name string) string {
	path := "policy\x00" + name
	for n := s.made[name]; ; n++ {
		full := path
		if n > 0 {
			full += "\x00" + strconv.Itoa(n)
		}
		if id := uuid.NewSHA1(s.namespace, []byte(full)).String(); s.find(id) == nil {
			return id
		}
	}
}

// add adds a profile. The caller holds the lock.
func (s *Service) add(p *pbm.PbmCapabilityProfile) vim.BaseMethodFault {
	if s.named(p.Name, "") {
		return &pbm.PbmDuplicateName{Name: p.Name}
	}
	s.profiles = append(s.profiles, p)
	return nil
}

// named reports whether a profile other than except has the name. The caller holds the lock.
func (s *Service) named(name, except string) bool {
	return slices.ContainsFunc(s.profiles, func(p *pbm.PbmCapabilityProfile) bool {
		return p.Name == name && p.ProfileId.UniqueId != except
	})
}

// update applies a spec.
func (s *Service) update(id string, spec *pbm.PbmCapabilityProfileUpdateSpec, user string) vim.BaseMethodFault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, p := range s.profiles {
		if p.ProfileId.UniqueId != id {
			continue
		}
		c := *p
		if spec.Name != "" {
			if s.named(spec.Name, id) {
				return &pbm.PbmDuplicateName{Name: spec.Name}
			}
			c.Name = spec.Name
		}
		if spec.Description != "" {
			c.Description = spec.Description
		}
		if spec.Constraints != nil {
			c.Constraints = spec.Constraints
		}
		c.GenerationId++
		c.LastUpdatedTime, c.LastUpdatedBy = time.Now(), user
		s.profiles[i] = &c
		return nil
	}
	return unknownProfile()
}

// remove deletes an unused profile.
func (s *Service) remove(id string, used bool) vim.BaseMethodFault {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.find(id)
	switch {
	case p == nil:
		return unknownProfile()
	case used, policy.BuiltIn(p):
		return &pbm.PbmResourceInUse{Type: "profile", Name: p.Name}
	}
	s.profiles = slices.DeleteFunc(slices.Clone(s.profiles), func(other *pbm.PbmCapabilityProfile) bool { return other == p })
	return nil
}

func unknownProfile() vim.BaseMethodFault { return &vim.InvalidArgument{InvalidProperty: "profileId"} }

// Compatible reports whether the datastore meets the profile with that identifier: every datastore meets the empty one, and none
// an unknown one. The caller must not hold the datastore's lock.
func (s *Service) Compatible(profile string, datastore vc.Ref) bool {
	if profile == "" {
		return true
	}
	p := s.Find(profile)
	if p == nil {
		return false
	}
	d, ok := s.datastore(hub(datastore))
	return ok && len(policy.Check(p, d)) == 0
}

// Datastores lists the datastores that meet the profile, by reference.
func (s *Service) Datastores(profile string) []vc.Ref {
	var all []vc.Ref
	for _, h := range s.hubs() {
		if ref := refOf(h); s.Compatible(profile, ref) {
			all = append(all, ref)
		}
	}
	return all
}

func hub(ref vc.Ref) pbm.PbmPlacementHub {
	return pbm.PbmPlacementHub{HubType: ref.Type, HubId: ref.Value}
}

func refOf(h pbm.PbmPlacementHub) vc.Ref { return vc.Ref{Type: h.HubType, Value: h.HubId} }

// hubs returns all datastores.
func (s *Service) hubs() []pbm.PbmPlacementHub {
	var all []pbm.PbmPlacementHub
	for _, e := range s.opts.Base.Map.All("Datastore") {
		all = append(all, hub(e.Reference()))
	}
	slices.SortFunc(all, func(a, b pbm.PbmPlacementHub) int { return cmp.Compare(a.HubId, b.HubId) })
	return all
}

// datastore returns the datastore of a hub; false if it does not exist.
func (s *Service) datastore(h pbm.PbmPlacementHub) (policy.Datastore, bool) {
	ds, ok := s.opts.Base.Map.Get(refOf(h)).(*simulator.Datastore)
	if !ok {
		return policy.Datastore{}, false
	}
	var d policy.Datastore
	vc.Fresh(s.opts.Base).WithLock(ds, func() { d.Type = ds.Summary.Type })
	d.Tags = s.opts.Tags(ds.Self)
	return d, true
}

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

// PbmQueryAssociatedEntities lists the objects that use several profiles, or all profiles if none is named.
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

// defaultOf returns the default profile of datastores of a type; nil for most types.
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

// PbmQueryDefaultRequirementProfiles returns the default profiles of several datastores.
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
