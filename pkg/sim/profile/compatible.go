package profile

import (
	"cmp"
	"slices"

	pbm "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/simulator"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/policy"
)

// Compatible tells whether the datastore meets the profile of that identifier: every datastore meets the empty one, and
// none one that there is not. The datastore must not be locked.
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

// hubs are all datastores.
func (s *Service) hubs() []pbm.PbmPlacementHub {
	var all []pbm.PbmPlacementHub
	for _, e := range s.opts.Base.Map.All("Datastore") {
		all = append(all, hub(e.Reference()))
	}
	slices.SortFunc(all, func(a, b pbm.PbmPlacementHub) int { return cmp.Compare(a.HubId, b.HubId) })
	return all
}

// datastore is what policies are told of one; false where there is none.
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
