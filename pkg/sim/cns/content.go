package cns

import (
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	content "github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
)

// Dir is the directory that stands for a volume's disk (see pkg/csi/disk), whether or not there is such a volume; empty
// when contents are not kept.
func (m *Manager) Dir(id string) string {
	if m.opts.Dir == "" || id == "" || id != filepath.Base(id) || strings.HasPrefix(id, ".") {
		return ""
	}
	return filepath.Join(m.opts.Dir, id)
}

// removeContent is the end of a volume's content.
func (m *Manager) removeContent(id string) error {
	if dir := m.Dir(id); dir != "" {
		return m.removeDir(dir)
	}
	return nil
}

// removeDir removes a directory of content.
func (m *Manager) removeDir(dir string) error {
	k, ok := m.opts.Guests.(Keeper)
	if !ok {
		return content.Remove(dir)
	}
	ctx, cancel := m.lifetime()
	defer cancel()
	return k.Remove(ctx, dir)
}

// DirOfDisk is [Manager.Dir] of the volume whose disk has that UUID, in any form; false when there is none.
func (m *Manager) DirOfDisk(uuid string) (string, bool) {
	want := compact(uuid)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, v := range m.order {
		if v.disk != "" && compact(v.disk) == want {
			dir := m.Dir(v.id)
			return dir, dir != ""
		}
	}
	return "", false
}

// snapshotDir is the directory of a snapshot's content; empty when contents are not kept.
func (m *Manager) snapshotDir(volume, snapshot string) string {
	return m.Dir(volume + "+" + snapshot)
}

// copyContent copies a directory; the manager's end ends that.
func (m *Manager) copyContent(from, to string) error {
	ctx, cancel := m.lifetime()
	defer cancel()
	if k, ok := m.opts.Guests.(Keeper); ok {
		return k.Copy(ctx, from, to)
	}
	return content.Copy(ctx, from, to)
}

// contentSize is what a volume's content takes, in MiB; one at least, for nothing takes none.
func contentSize(dir string) int64 {
	var bytes int64
	if dir != "" {
		_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
			if err != nil {
				return nil // what cannot be seen takes nothing
			}
			if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
				bytes += taken(info)
			}
			return nil
		})
	}
	return max(1, (bytes+1<<20-1)>>20)
}

// taken is how many bytes a file takes: holes take none, of which a raw disk is nearly all.
func taken(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return min(info.Size(), st.Blocks*512)
	}
	return info.Size()
}

// compact is a UUID without dashes, in lower case.
func compact(uuid string) string {
	return strings.ToLower(strings.ReplaceAll(uuid, "-", ""))
}
