package cns

import (
	"bytes"
	"slices"
	"strings"
	"time"

	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"
	vsanfs "github.com/vmware/govmomi/vsan/vsanfs/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// state is what a manager knows beyond the devices of VMs: its volumes, and the catalogue of first-class disks. Attachments are
// not in it: the devices of the VMs have them.
type state struct {
	Volumes []volumeState `xml:"volume"`
	Disks   []diskState   `xml:"disk"`
	Used    []string      `xml:"used"`
}

type volumeState struct {
	ID        string                              `xml:"id"`
	Name      string                              `xml:"name"`
	File      bool                                `xml:"file"`
	Metadata  []cnstypes.CnsVolumeMetadata        `xml:"metadata"`
	Capacity  int64                               `xml:"capacity"`
	Datastore vc.Ref                              `xml:"datastore"`
	Disk      string                              `xml:"diskUuid"`
	Path      string                              `xml:"path"`
	Policy    string                              `xml:"policy"`
	Created   time.Time                           `xml:"created"`
	Keep      bool                                `xml:"keep"`
	Snapshots []snapshotState                     `xml:"snapshot"`
	Pinned    bool                                `xml:"pinned"`
	Tracked   bool                                `xml:"tracked"`
	ShareID   string                              `xml:"shareId"`
	Points    []types.KeyValue                    `xml:"point"`
	Access    []vsanfs.VsanFileShareNetPermission `xml:"access"`
	Forgotten bool                                `xml:"forgotten"`
}

type snapshotState struct {
	ID          string    `xml:"id"`
	Description string    `xml:"description"`
	Created     time.Time `xml:"created"`
	Capacity    int64     `xml:"capacity"`
	Size        int64     `xml:"size"`
}

type diskState struct {
	Object    types.VStorageObject                                     `xml:"object"`
	Snapshots []types.VStorageObjectSnapshotInfoVStorageObjectSnapshot `xml:"snapshot"`
	Metadata  []types.KeyValue                                         `xml:"metadata"`
}

// Export returns the volumes and the first-class disks as XML, for [Manager.Import]. Contents are in the directories of
// [Manager.Dir]. Operations that run are in it or not: call [Manager.Idle] before.
func (m *Manager) Export() ([]byte, error) {
	var s state
	m.catalogue(m.fresh(), func(all map[vc.Ref]map[types.ID]*disk) {
		for _, disks := range all {
			for _, d := range disks {
				s.Disks = append(s.Disks, diskState{Object: d.VStorageObject, Snapshots: d.Snapshots, Metadata: d.Metadata})
			}
		}
	})
	slices.SortFunc(s.Disks, func(a, b diskState) int { return strings.Compare(a.Object.Config.Id.Id, b.Object.Config.Id.Id) })
	m.mu.Lock()
	for _, v := range m.order {
		s.Volumes = append(s.Volumes, v.state())
	}
	for _, v := range m.forgotten {
		is := v.state()
		is.Forgotten = true
		s.Volumes = append(s.Volumes, is)
	}
	for id := range m.used {
		s.Used = append(s.Used, id)
	}
	m.mu.Unlock()
	slices.Sort(s.Used)
	var b bytes.Buffer
	err := xml.NewEncoder(&b).Encode(s)
	return b.Bytes(), err
}

func (v *volume) state() volumeState {
	s := volumeState{
		ID: v.id, Name: v.name, File: v.file, Metadata: v.metadata, Capacity: v.capacity, Datastore: v.datastore, Disk: v.disk, Path: v.path,
		Policy: v.policy, Created: v.created, Keep: v.keep, Pinned: v.flags.pinned, Tracked: v.flags.tracked,
		ShareID: v.share.id, Points: v.share.points, Access: v.share.access,
	}
	for _, p := range v.snapshot {
		s.Snapshots = append(s.Snapshots, snapshotState{p.id, p.description, p.created, p.capacity, p.size})
	}
	return s
}

func (s *volumeState) volume() *volume {
	v := &volume{
		id: s.ID, name: s.Name, file: s.File, metadata: s.Metadata, capacity: s.Capacity, datastore: s.Datastore, disk: s.Disk, path: s.Path,
		policy: s.Policy, created: s.Created, keep: s.Keep, flags: controlFlags{pinned: s.Pinned, tracked: s.Tracked},
		share: share{id: s.ShareID, points: s.Points, access: s.Access},
	}
	for _, p := range s.Snapshots {
		v.snapshot = append(v.snapshot, snapshot{p.ID, p.Description, p.Created, p.Capacity, p.Size})
	}
	return v
}

// Import restores what [Manager.Export] returned, in a vCenter whose VMs exist, with their devices, and that does not serve yet. A
// volume is attached to the VM that has its disk.
func (m *Manager) Import(data []byte) error {
	var s state
	d := xml.NewDecoder(bytes.NewReader(data))
	d.TypeFunc = types.TypeFunc()
	if err := d.Decode(&s); err != nil {
		return err
	}
	m.catalogue(m.fresh(), func(all map[vc.Ref]map[types.ID]*disk) {
		for _, is := range s.Disks {
			on := is.Object.Config.Backing.GetBaseConfigInfoBackingInfo().Datastore
			if all[on] == nil {
				all[on] = make(map[types.ID]*disk)
			}
			all[on][is.Object.Config.Id] = &disk{
				VStorageObject: is.Object, VStorageObjectSnapshotInfo: types.VStorageObjectSnapshotInfo{Snapshots: is.Snapshots}, Metadata: is.Metadata,
			}
		}
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range s.Used {
		m.used[id] = true
	}
	for i := range s.Volumes {
		v := s.Volumes[i].volume()
		if s.Volumes[i].Forgotten {
			m.forgotten[v.id] = v
			continue
		}
		m.put(v)
		m.sight(v)
	}
	return nil
}

// Idle reports whether no operation runs on any volume.
func (m *Manager) Idle() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.making) > 0 || len(m.own) > 0 {
		return false
	}
	return !slices.ContainsFunc(m.order, func(v *volume) bool { return v.busy != nil })
}
