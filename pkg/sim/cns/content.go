package cns

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	content "github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/host"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// Dir returns the directory that stores the contents of a volume's disk (see pkg/csi/disk), whether or not the volume exists. It
// is empty if contents are not kept.
func (m *Manager) Dir(id string) string {
	if m.opts.Dir == "" || id == "" || id != filepath.Base(id) || strings.HasPrefix(id, ".") {
		return ""
	}
	return filepath.Join(m.opts.Dir, id)
}

func (m *Manager) removeContent(id string) error {
	if dir := m.Dir(id); dir != "" {
		return m.removeDir(dir)
	}
	return nil
}

// removeDir removes a directory of contents.
func (m *Manager) removeDir(dir string) error {
	k, ok := m.opts.Guests.(Keeper)
	if !ok {
		return content.Remove(dir)
	}
	ctx, cancel := m.lifetime()
	defer cancel()
	return k.Remove(ctx, dir)
}

// snapshotDir returns the directory of a snapshot's contents; empty if contents are not kept.
func (m *Manager) snapshotDir(volume, snapshot string) string {
	return m.Dir(volume + "+" + snapshot)
}

// copyContent copies a directory, until the manager is closed.
func (m *Manager) copyContent(from, to string) error {
	ctx, cancel := m.lifetime()
	defer cancel()
	if k, ok := m.opts.Guests.(Keeper); ok {
		return k.Copy(ctx, from, to)
	}
	return content.Copy(ctx, from, to)
}

// contentSize returns the used size of a volume's contents in MiB, at least 1.
func contentSize(dir string) int64 {
	var bytes int64
	if dir != "" {
		_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
			if err != nil {
				return nil // unreadable files count as empty
			}
			if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
				bytes += taken(info)
			}
			return nil
		})
	}
	return max(1, (bytes+1<<20-1)>>20)
}

// taken returns the bytes that a file occupies, without holes: a raw disk is sparse.
func taken(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return min(info.Size(), st.Blocks*512)
	}
	return info.Size()
}

// inTreeFolder is the folder of disks that the in-tree provider created.
const inTreeFolder = "kubevols/"

// DirOfFile is [Manager.Dir] for the disk whose descriptor is at a path ("[ds] kubevols/a.vmdk"). A disk in the folder of the
// in-tree provider has contents before it becomes a volume, and keeps them then. It is empty for other disks that are not
// volumes.
func (m *Manager) DirOfFile(file string) string {
	_, in, ok := strings.Cut(file, "] ")
	if m.opts.Dir == "" || !ok || !strings.HasPrefix(in, inTreeFolder) {
		return ""
	}
	ctx := m.fresh()
	for ref, s := range m.stores(ctx) {
		if !strings.HasPrefix(file, "["+s.name+"] ") {
			continue
		}
		capacity, err := s.measure(file)
		if err != nil {
			continue // a datastore of that name in another datacenter may have it
		}
		if _, done := m.make(makingKey{id: file}); done != nil { // not while it becomes a volume: see diskAt
			defer done()
		}
		if id := m.diskWith(ctx, ref, file); id != "" {
			return m.Dir(id) // the ID that register will use
		}
		dir := m.Dir(m.nextID(file))
		if _, err := content.Size(dir); err == nil || content.Create(dir, capacity) == nil {
			return dir
		}
		return ""
	}
	return ""
}

// diskWith returns the ID of the first-class disk that has a file, or "".
func (m *Manager) diskWith(ctx *simulator.Context, on vc.Ref, file string) (id string) {
	m.catalogue(ctx, func(all map[vc.Ref]map[types.ID]*disk) {
		for _, d := range all[on] {
			if b, ok := d.Config.Backing.(*types.BaseConfigInfoDiskFileBackingInfo); ok && b.FilePath == file {
				id = d.Config.Id.Id
			}
		}
	})
	return id
}

// nextID returns the ID that newID would return for a disk with that file.
func (m *Manager) nextID(file string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for n := 0; ; n++ {
		if id := m.derive("volume", file, "", strconv.Itoa(n)); !m.used[id] && m.volumes[id] == nil {
			return id
		}
	}
}

// store is a snapshot of a datastore's state.
type store struct {
	ref       vc.Ref
	name, url string
	dir       string // of its files
	kind      string // "VMFS", "vsan", …
	free      int64  // bytes; 0 if it was filled
	// hosts are the connected hosts that mount it and have a path to it. degraded: other hosts mount it and do not reach it.
	hosts    []vc.Ref
	degraded bool
	// maintenance: it accepts no new files.
	maintenance bool
}

// reachedBy reports whether the host reaches it.
func (s *store) reachedBy(host vc.Ref) bool { return slices.Contains(s.hosts, host) }

// store reads a datastore; nil if it does not exist. The caller must hold no lock, except ctx's on a VM.
func (m *Manager) store(ctx *simulator.Context, ref vc.Ref) *store {
	ds, ok := ctx.Map.Get(ref).(*simulator.Datastore)
	if !ok {
		return nil
	}
	s := &store{ref: ref}
	var mounts []types.DatastoreHostMount
	ctx.WithLock(ds, func() {
		s.name, s.dir, s.url, s.kind, s.free = ds.Name, ds.Summary.Url, ds.Summary.Url, ds.Summary.Type, ds.Summary.FreeSpace
		s.maintenance = ds.Summary.MaintenanceMode != "" && ds.Summary.MaintenanceMode != string(types.DatastoreSummaryMaintenanceModeStateNormal)
		mounts = slices.Clone(ds.Host)
	})
	if m.opts.URL != nil {
		s.url = m.opts.URL(ref)
	}
	if h := host.Of(ctx); h != nil && h.Full(ref) {
		s.free = 0
	}
	for _, mount := range mounts {
		if (mount.MountInfo.Accessible == nil || *mount.MountInfo.Accessible) && connected(ctx, mount.Key) {
			s.hosts = append(s.hosts, mount.Key)
		} else {
			s.degraded = true
		}
	}
	return s
}

// storeName returns the name of a datastore, or its reference if it is gone.
func (m *Manager) storeName(ctx *simulator.Context, ref vc.Ref) string {
	if s := m.store(ctx, ref); s != nil {
		return s.name
	}
	return ref.Value
}

// stores reads all datastores.
func (m *Manager) stores(ctx *simulator.Context) map[vc.Ref]*store {
	all := make(map[vc.Ref]*store)
	for _, obj := range ctx.Map.AllReference("Datastore") {
		ref := obj.(*simulator.Datastore).Self
		if s := m.store(ctx, ref); s != nil {
			all[ref] = s
		}
	}
	return all
}

func connected(ctx *simulator.Context, ref vc.Ref) (yes bool) {
	h, ok := ctx.Map.Get(ref).(*simulator.HostSystem)
	if !ok {
		return false
	}
	ctx.WithLock(h, func() {
		yes = h.Runtime.ConnectionState == types.HostSystemConnectionStateConnected
	})
	return yes
}
