package cns

import (
	"cmp"
	"slices"

	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// wish is what a datastore is wanted for.
type wish struct {
	allowed    []vc.Ref // empty: all
	capacityMB int64
	policy     string
	near       vc.Ref // is taken if it can be; zero: none
}

// place chooses a datastore: of those that can hold the volume, the one with most space that no volume has been promised.
// The placements tell what spoke against the others; of several reasons to refuse, the fault is that which a person can do
// something about first.
func (m *Manager) place(ctx *simulator.Context, w wish) (*store, []cnstypes.CnsPlacementResult, types.BaseMethodFault) {
	refs := w.allowed
	if len(refs) == 0 {
		for _, obj := range ctx.Map.AllReference("Datastore") {
			refs = append(refs, obj.Reference())
		}
		slices.SortFunc(refs, func(a, b vc.Ref) int {
			return cmp.Or(cmp.Compare(len(a.Value), len(b.Value)), cmp.Compare(a.Value, b.Value))
		})
	}
	promised := m.promised()
	var best *store
	var room int64
	var failed []cnstypes.CnsPlacementResult
	var worst types.BaseMethodFault
	for _, ref := range refs {
		s := m.store(ctx, ref)
		if s == nil {
			return nil, nil, &types.ManagedObjectNotFound{Obj: ref}
		}
		if fault := m.unfit(s, w); fault != nil {
			failed = append(failed, cnstypes.CnsPlacementResult{Datastore: ref, PlacementFaults: []*types.LocalizedMethodFault{localized(fault)}})
			if worst == nil || weight(fault) > weight(worst) {
				worst = fault
			}
			continue
		}
		left := s.free - promised[ref]<<20
		if best == nil || best.ref != w.near && (ref == w.near || left > room) {
			best, room = s, left
		}
	}
	if best == nil {
		if worst == nil {
			worst = because(nil, "no datastore to create the disk on")
		}
		return nil, failed, worst
	}
	return best, append([]cnstypes.CnsPlacementResult{{Datastore: best.ref}}, failed...), nil
}

// promised is what all volumes on each datastore may take, MiB. Their disks are thin: they take it when it is written.
func (m *Manager) promised() map[vc.Ref]int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	sum := make(map[vc.Ref]int64)
	for _, v := range m.order {
		sum[v.datastore] += v.capacity
	}
	return sum
}

// unfit tells why a datastore cannot hold a volume, nil when it can.
func (m *Manager) unfit(s *store, w wish) types.BaseMethodFault {
	switch {
	case w.policy != "" && m.opts.Compatible != nil && !m.opts.Compatible(w.policy, s.ref):
		return because(nil, "datastore %s is not compatible with storage policy %s", s.name, w.policy)
	case len(s.hosts) == 0:
		return inaccessible(s, "no host reaches it")
	case s.maintenance:
		return inaccessible(s, "it is in maintenance mode")
	case s.free < w.capacityMB<<20:
		return noSpace(s)
	}
	return nil
}

// weight orders faults: a datastore that is full is what the user asked for but for its space, one of another policy is not.
func weight(fault types.BaseMethodFault) int {
	switch fault.(type) {
	case *types.NoDiskSpace:
		return 2
	case *types.InaccessibleDatastore:
		return 1
	}
	return 0
}

func noSpace(s *store) *types.NoDiskSpace {
	return &types.NoDiskSpace{FileFault: types.FileFault{File: "[" + s.name + "]"}, Datastore: s.name}
}

func inaccessible(s *store, detail string) *types.InaccessibleDatastore {
	return &types.InaccessibleDatastore{InvalidDatastore: types.InvalidDatastore{Datastore: &s.ref, Name: s.name}, Detail: detail}
}
