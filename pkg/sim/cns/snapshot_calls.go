package cns

import (
	"github.com/vmware/govmomi/cns/methods"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// CnsCreateSnapshots takes snapshots of volumes, also while they are attached.
func (m *Manager) CnsCreateSnapshots(_ *simulator.Context, req *cnstypes.CnsCreateSnapshots) soap.HasFault {
	const method = "CnsCreateSnapshots"
	return &methods.CnsCreateSnapshotsBody{Res: &cnstypes.CnsCreateSnapshotsResponse{
		Returnval: m.task(method, func(ctx *simulator.Context) (types.AnyType, types.BaseMethodFault) {
			id := func(s *cnstypes.CnsSnapshotCreateSpec) string { return s.VolumeId.Id }
			return each(m, method, req.SnapshotSpecs, id, func(spec *cnstypes.CnsSnapshotCreateSpec, fault types.BaseMethodFault) cnstypes.BaseCnsVolumeOperationResult {
				var s snapshot
				r := new(cnstypes.CnsSnapshotCreateResult)
				if fault == nil {
					s, r.AggregatedSnapshotCapacityInMb, fault = m.takeSnapshot(ctx, spec)
				}
				r.CnsVolumeOperationResult = outcome(spec.VolumeId.Id, fault)
				r.Snapshot = cnstypes.CnsSnapshot{VolumeId: spec.VolumeId, Description: spec.Description}
				if fault == nil {
					r.Snapshot = s.show(spec.VolumeId.Id)
				}
				return r
			})
		}),
	}}
}

// CnsDeleteSnapshots deletes snapshots. One that is not there has the fault NotFound in its result.
func (m *Manager) CnsDeleteSnapshots(_ *simulator.Context, req *cnstypes.CnsDeleteSnapshots) soap.HasFault {
	const method = "CnsDeleteSnapshots"
	return &methods.CnsDeleteSnapshotBody{Res: &cnstypes.CnsDeleteSnapshotsResponse{
		Returnval: m.task(method, func(ctx *simulator.Context) (types.AnyType, types.BaseMethodFault) {
			id := func(s *cnstypes.CnsSnapshotDeleteSpec) string { return s.VolumeId.Id }
			return each(m, method, req.SnapshotDeleteSpecs, id, func(spec *cnstypes.CnsSnapshotDeleteSpec, fault types.BaseMethodFault) cnstypes.BaseCnsVolumeOperationResult {
				r := &cnstypes.CnsSnapshotDeleteResult{SnapshotId: spec.SnapshotId}
				if fault == nil {
					r.AggregatedSnapshotCapacityInMb, fault = m.deleteSnapshot(ctx, spec)
				}
				r.CnsVolumeOperationResult = outcome(spec.VolumeId.Id, fault)
				return r
			})
		}),
	}}
}

// CnsQuerySnapshots lists a page of the snapshots of a volume, a single one, or all, volume by volume and the oldest first.
func (m *Manager) CnsQuerySnapshots(_ *simulator.Context, req *cnstypes.CnsQuerySnapshots) soap.HasFault {
	return &methods.CnsQuerySnapshotsBody{Res: &cnstypes.CnsQuerySnapshotsResponse{
		Returnval: m.task("CnsQuerySnapshots", func(*simulator.Context) (types.AnyType, types.BaseMethodFault) {
			return m.querySnapshots(&req.SnapshotQueryFilter)
		}),
	}}
}

func (m *Manager) querySnapshots(f *cnstypes.CnsSnapshotQueryFilter) (types.AnyType, types.BaseMethodFault) {
	p, fault := pageOf(f.Cursor, defaultSnapshots)
	if fault != nil {
		return nil, fault
	}
	var entries []cnstypes.CnsSnapshotQueryResultEntry
	switch len(f.SnapshotQuerySpecs) {
	case 0:
		entries = m.allSnapshots()
	case 1:
		entries = m.snapshotsOf(&f.SnapshotQuerySpecs[0])
	default:
		return nil, &types.InvalidArgument{InvalidProperty: "snapshotQuerySpecs"}
	}
	from, to := p.bounds(len(entries))
	return &cnstypes.CnsSnapshotQueryResult{Entries: entries[from:to], Cursor: p.next(to, len(entries))}, nil
}

func (m *Manager) allSnapshots() (entries []cnstypes.CnsSnapshotQueryResultEntry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, v := range m.order {
		for _, s := range v.snapshot {
			entries = append(entries, cnstypes.CnsSnapshotQueryResultEntry{Snapshot: s.show(v.id)})
		}
	}
	return entries
}

func (m *Manager) snapshotsOf(spec *cnstypes.CnsSnapshotQuerySpec) (entries []cnstypes.CnsSnapshotQueryResultEntry) {
	missing := func(fault types.BaseMethodFault) []cnstypes.CnsSnapshotQueryResultEntry {
		return []cnstypes.CnsSnapshotQueryResultEntry{{Error: localized(fault)}}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	v := m.volumes[spec.VolumeId.Id]
	if v == nil {
		return missing(&cnstypes.CnsVolumeNotFoundFault{VolumeId: spec.VolumeId})
	}
	if spec.SnapshotId != nil && spec.SnapshotId.Id != "" {
		i := v.indexSnapshot(spec.SnapshotId.Id)
		if i < 0 {
			return missing(&cnstypes.CnsSnapshotNotFoundFault{VolumeId: spec.VolumeId, SnapshotId: *spec.SnapshotId})
		}
		return []cnstypes.CnsSnapshotQueryResultEntry{{Snapshot: v.snapshot[i].show(v.id)}}
	}
	for _, s := range v.snapshot {
		entries = append(entries, cnstypes.CnsSnapshotQueryResultEntry{Snapshot: s.show(v.id)})
	}
	return entries
}

// show is what clients see of a snapshot.
func (s snapshot) show(volume string) cnstypes.CnsSnapshot {
	return cnstypes.CnsSnapshot{
		SnapshotId: cnstypes.CnsSnapshotId{Id: s.id}, VolumeId: cnstypes.CnsVolumeId{Id: volume},
		Description: s.description, CreateTime: s.created,
	}
}
