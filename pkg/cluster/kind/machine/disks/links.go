package disks

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
)

// Links shows a volume as a link to its directory. It holds no state; its methods may be called from any goroutine.
type Links struct {
	// Dir returns the directory that stands for a volume's disk; empty: there is none, and it is not shown.
	Dir func(volumeID string) string
	// Inside returns where a container has that directory mounted; nil: at the same path.
	Inside func(dir string) string
	// AsRoot does what this process may not with directories that pods have written to; nil where it may everything.
	AsRoot AsRoot
}

// Possible always is.
func (*Links) Possible(string) error { return nil }

// Plug has the guest whose by-id folder that is see the disk. Again is harmless.
func (l *Links) Plug(_ context.Context, folder string, d node.Disk) error {
	to := l.Dir(d.VolumeID)
	if to == "" || d.UUID == "" {
		return nil
	}
	if l.Inside != nil {
		to = l.Inside(to)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	link := filepath.Join(folder, names.DeviceLink(d.UUID))
	if is, err := os.Readlink(link); err == nil && is == to {
		return nil
	}
	return errors.Join(remove(link), os.Symlink(to, link))
}

// Unplug is the end of what Plug did. What is not there is no error.
func (l *Links) Unplug(_ context.Context, folder string, d node.Disk) error {
	return remove(filepath.Join(folder, names.DeviceLink(d.UUID)))
}

// Resize has nothing to do: the directory says how large its disk is.
func (*Links) Resize(context.Context, node.Disk) error { return nil }

// Flush has nothing to do: the directory has what was written.
func (*Links) Flush(context.Context, node.Disk) error { return nil }

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
