package profile

import (
	"sync"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/pbm/methods"
	pbmsim "github.com/vmware/govmomi/pbm/simulator"
	pbm "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/simulator"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/policy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Options of [New].
type Options struct {
	// Base is the vCenter's own context. Required.
	Base *simulator.Context
	// InstanceUUID is the vCenter's, of which identifiers of profiles are made.
	InstanceUUID string
	// Tags lists the tags of a datastore. It is called without locks of this package. Nil: they have none.
	Tags func(datastore vc.Ref) []topology.Tag
	// Uses lists what profiles are applied to. Called as Tags is. Nil: to nothing.
	Uses func() []Use
}

// Use is an object that a profile is applied to.
type Use struct {
	Profile string // its identifier
	Object  pbm.PbmServerObjectRef
}

// Service is the storage policy service of one vCenter. Make one with [New]. All methods may be called from any goroutine;
// those named Pbm… of what it registers are PBM's API.
type Service struct {
	opts      Options
	namespace uuid.UUID

	mu sync.RWMutex // a leaf: nothing is called while it is held
	// profiles are in the order of their making. What is in them is never changed, only replaced.
	profiles []*pbm.PbmCapabilityProfile
	made     map[string]int // how many profiles of a name there have been
}

// New returns the service of a vCenter with the profiles that every vCenter has. While it runs nobody may call
// pbmsim.New, which writes into what it reads; the same holds for [Service.Registry].
func New(o Options) *Service {
	namespace, err := uuid.Parse(o.InstanceUUID)
	if err != nil { // of an inventory that was saved elsewhere
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

// Registry returns the registry that vcsim finds the service in, for Service.RegisterSDK.
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

// builtIn copies the profiles that vcsim comes with.
func builtIn() []*pbm.PbmCapabilityProfile {
	var own []*pbm.PbmCapabilityProfile
	for _, obj := range pbmsim.New().AllReference("PbmProfileProfileManager") {
		m, ok := obj.(*pbmsim.ProfileManager)
		if !ok {
			continue
		}
		for _, p := range stock(m) {
			if p, ok := p.(*pbm.PbmCapabilityProfile); ok {
				c := *p // what it points to is not changed by anybody
				own = append(own, &c)
			}
		}
	}
	return own
}

// stock asks vcsim's manager for its profiles, which it has in a variable of its own.
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
