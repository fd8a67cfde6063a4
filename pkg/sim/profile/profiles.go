package profile

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	pbm "github.com/vmware/govmomi/pbm/types"
	vim "github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/policy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// List returns all profiles, in the order of their making; they must not be changed.
func (s *Service) List() []*pbm.PbmCapabilityProfile {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clone(s.profiles)
}

// Find returns the profile of an identifier, which must not be changed; nil without one.
func (s *Service) Find(id string) *pbm.PbmCapabilityProfile {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.find(id)
}

// find is called with the lock held.
func (s *Service) find(id string) *pbm.PbmCapabilityProfile {
	for _, p := range s.profiles {
		if p.ProfileId.UniqueId == id {
			return p
		}
	}
	return nil
}

// Make makes the profile of a topology's policy.
func (s *Service) Make(p *topology.Policy) error {
	spec := policy.Spec(p)
	_, fault := s.create(&spec, "vpxd")
	return faultError(p.Name, fault)
}

// Restore puts a profile back that was saved, identifier and all. One that is there already is left alone.
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

// create makes a profile, with an identifier that is the same in each run: of the vCenter, the name, and how many there
// have been of that name.
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

// identify is called with the lock held.
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

// add is called with the lock held.
func (s *Service) add(p *pbm.PbmCapabilityProfile) vim.BaseMethodFault {
	if s.named(p.Name, "") {
		return &pbm.PbmDuplicateName{Name: p.Name}
	}
	s.profiles = append(s.profiles, p)
	return nil
}

// named tells whether a profile other than that of the identifier has the name. It is called with the lock held.
func (s *Service) named(name, except string) bool {
	return slices.ContainsFunc(s.profiles, func(p *pbm.PbmCapabilityProfile) bool {
		return p.Name == name && p.ProfileId.UniqueId != except
	})
}

// update changes what the spec has.
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

// remove deletes a profile that nothing uses.
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
