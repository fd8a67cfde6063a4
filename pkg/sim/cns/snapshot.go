package cns

import (
	"errors"
	"io/fs"
	"slices"
	"strconv"

	"github.com/vmware/govmomi/cns/methods"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// MaxSnapshots is vSphere's limit of snapshots of a disk.
const MaxSnapshots = 32

// takeSnapshot takes a snapshot of a volume, with its contents, or returns the existing one with the requested ID. all is the
// size of all snapshots of the volume, MiB.
func (m *Manager) takeSnapshot(ctx *simulator.Context, spec *cnstypes.CnsSnapshotCreateSpec) (_ snapshot, all int64, _ types.BaseMethodFault) {
	v := m.take(spec.VolumeId.Id)
	if v == nil {
		return snapshot{}, 0, new(types.NotFound)
	}
	if spec.SnapshotId != nil && spec.SnapshotId.Id != "" {
		if i := v.indexSnapshot(spec.SnapshotId.Id); i >= 0 {
			s, all := v.snapshot[i], v.snapshotSize()
			m.release(v, nil)
			return s, all, nil
		}
	}
	if fault := m.snapshotRefused(ctx, v); fault != nil {
		m.release(v, nil)
		return snapshot{}, 0, fault
	}
	s := snapshot{description: spec.Description, created: m.opts.Now().UTC(), capacity: v.capacity}
	if spec.SnapshotId != nil && spec.SnapshotId.Id != "" {
		s.id = spec.SnapshotId.Id
	} else {
		s.id = m.newSnapshotID(v.id)
	}
	if err := m.keepContent(v.id, s.id); err != nil {
		m.release(v, nil)
		return snapshot{}, 0, because(nil, "the content of volume %s was not copied: %v", v.id, err)
	}
	m.editDisk(ctx, v.id, func(d *disk) {
		d.Snapshots = append(slices.Clip(d.Snapshots), s.info())
	})
	s.size = contentSize(m.snapshotDir(v.id, s.id))
	about, all := v.about(vc.Ref{}), v.snapshotSize()+s.size
	m.release(v, func() { v.snapshot = append(slices.Clip(v.snapshot), s) })
	m.log(about, event.Info, "volume.snapshot", "snapshot %s was taken", s.id)
	return s, all, nil
}

// snapshotRefused returns the reason why a busy volume gets no snapshot, or nil.
func (m *Manager) snapshotRefused(ctx *simulator.Context, v *volume) types.BaseMethodFault {
	if v.file {
		return new(types.NotSupported)
	}
	if len(v.snapshot) >= MaxSnapshots {
		return because(nil, "volume %s has %d snapshots, which is the most a disk may have", v.id, len(v.snapshot))
	}
	s := m.store(ctx, v.datastore)
	if fault := unreached(v.datastore, s); fault != nil {
		return fault
	}
	if s.free == 0 {
		return noSpace(s)
	}
	return nil
}

// deleteSnapshot deletes a snapshot; left is the size of the others, MiB. NotFound: the volume or the snapshot does not exist.
func (m *Manager) deleteSnapshot(ctx *simulator.Context, spec *cnstypes.CnsSnapshotDeleteSpec) (left int64, _ types.BaseMethodFault) {
	v := m.take(spec.VolumeId.Id)
	if v == nil {
		return 0, new(types.NotFound)
	}
	if v.indexSnapshot(spec.SnapshotId.Id) < 0 {
		m.release(v, nil)
		return 0, new(types.NotFound)
	}
	if fault := unreached(v.datastore, m.store(ctx, v.datastore)); fault != nil {
		m.release(v, nil)
		return 0, fault
	}
	if dir := m.snapshotDir(v.id, spec.SnapshotId.Id); dir != "" {
		if err := m.removeDir(dir); err != nil {
			m.release(v, nil)
			return 0, because(nil, "the content of snapshot %s was not removed: %v", spec.SnapshotId.Id, err)
		}
	}
	m.editDisk(ctx, v.id, func(d *disk) {
		d.Snapshots = slices.DeleteFunc(slices.Clone(d.Snapshots), func(s types.VStorageObjectSnapshotInfoVStorageObjectSnapshot) bool {
			return s.Id != nil && s.Id.Id == spec.SnapshotId.Id
		})
	})
	about := v.about(vc.Ref{})
	m.release(v, func() {
		i := v.indexSnapshot(spec.SnapshotId.Id)
		v.snapshot = slices.Delete(slices.Clone(v.snapshot), i, i+1)
		left = v.snapshotSize()
	})
	m.log(about, event.Info, "volume.snapshot-deleted", "snapshot %s was deleted", spec.SnapshotId.Id)
	return left, nil
}

// indexSnapshot returns the index of the snapshot in the volume's list, or -1.
func (v *volume) indexSnapshot(id string) int {
	return slices.IndexFunc(v.snapshot, func(s snapshot) bool { return s.id == id })
}

// newSnapshotID returns a snapshot ID that was never used.
func (m *Manager) newSnapshotID(volume string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for n := 0; ; n++ {
		if id := m.derive("snapshot", volume, strconv.Itoa(n)); !m.used[id] {
			m.used[id] = true
			return id
		}
	}
}

// keepContent copies a volume's contents for a snapshot, if contents are kept.
func (m *Manager) keepContent(volume, snapshot string) error {
	from, to := m.Dir(volume), m.snapshotDir(volume, snapshot)
	if from == "" || to == "" {
		return nil
	}
	if err := m.guestOf(volume, 0, Guests.Flush); err != nil {
		return err
	}
	if err := m.copyContent(from, to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// info returns the snapshot as vSLM shows it.
func (s snapshot) info() types.VStorageObjectSnapshotInfoVStorageObjectSnapshot {
	return types.VStorageObjectSnapshotInfoVStorageObjectSnapshot{
		Id: &types.ID{Id: s.id}, BackingObjectId: s.id, CreateTime: s.created, Description: s.description,
	}
}

// CnsCreateSnapshots takes snapshots of volumes, even attached ones.
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

// CnsDeleteSnapshots deletes snapshots. A missing one has the fault NotFound in its result.
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

// CnsQuerySnapshots lists a page of the snapshots of a volume, a single one, or all, by volume and age.
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

// show returns the snapshot as clients see it.
func (s snapshot) show(volume string) cnstypes.CnsSnapshot {
	return cnstypes.CnsSnapshot{
		SnapshotId: cnstypes.CnsSnapshotId{Id: s.id}, VolumeId: cnstypes.CnsVolumeId{Id: volume},
		Description: s.description, CreateTime: s.created,
	}
}
