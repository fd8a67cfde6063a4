package dir

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
)

// disks are directories below root.
type disks struct{ root string }

// Find makes the directory of a volume that has none. No call tells a node how large a volume is, so it is as large as
// the file system below it until it is expanded.
func (d disks) Find(_ context.Context, volume, _ string) (string, error) {
	dir := filepath.Join(d.root, "volume-"+url.PathEscape(volume)) // never "..", and no path of several
	_, err := disk.Size(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return dir, err
	}
	size, err := d.room()
	if err == nil {
		err = disk.Create(dir, size)
	}
	if errors.Is(err, fs.ErrExist) { // another node of a shared root was first
		err = nil
	}
	return dir, err
}

func (d disks) room() (int64, error) {
	at := d.root
	for {
		var st unix.Statfs_t
		err := unix.Statfs(at, &st)
		if err == nil {
			return max(int64(st.Blocks)*int64(st.Bsize), 1), nil //nolint:unconvert // another type on other systems
		}
		if !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			return 0, err
		}
		at = filepath.Dir(at)
	}
}

// Enlarged makes the disk larger, for nobody else does.
func (d disks) Enlarged(_ context.Context, dir string, bytes int64) error {
	return disk.Resize(dir, bytes)
}
