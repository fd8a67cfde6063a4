package cns

import (
	"errors"
	"io/fs"
	"slices"
	"strconv"

	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// MaxSnapshots is how many snapshots vSphere lets a disk have.
const MaxSnapshots = 32

// takeSnapshot takes a snapshot of a volume, with its content. One that has the id asked for is there already and
// returned. all is what the volume's snapshots take together then, MiB.
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

// snapshotRefused says why a volume that is taken gets no snapshot, nil when it does.
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

// deleteSnapshot is the end of a snapshot; left is what the others take, MiB. NotFound: there is no such volume, or it has no
// such snapshot.
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

// indexSnapshot is where the snapshot is in the volume's list, -1 when it has none of that id.
func (v *volume) indexSnapshot(id string) int {
	return slices.IndexFunc(v.snapshot, func(s snapshot) bool { return s.id == id })
}

// newSnapshotID is an id that no snapshot has ever had here.
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

// keepContent copies a volume's content for a snapshot. Contents that nobody keeps are copied nowhere.
func (m *Manager) keepContent(volume, snapshot string) error {
	from, to := m.Dir(volume), m.snapshotDir(volume, snapshot)
	if from == "" || to == "" {
		return nil
	}
	if err := m.tell(volume, 0, Guests.Flush); err != nil {
		return err
	}
	if err := m.copyContent(from, to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// info is what vSLM shows of a snapshot.
func (s snapshot) info() types.VStorageObjectSnapshotInfoVStorageObjectSnapshot {
	return types.VStorageObjectSnapshotInfoVStorageObjectSnapshot{
		Id: &types.ID{Id: s.id}, BackingObjectId: s.id, CreateTime: s.created, Description: s.description,
	}
}
