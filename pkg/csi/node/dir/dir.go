package dir

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/folder"
)

// Options make the backend.
type Options struct {
	// Root is the directory of the volumes' directories; it is made.
	Root string
	// StateDir is where the backend keeps its mount table. It is the node's own, and lasts.
	StateDir string
	// Boot names this boot of the machine, as in package folder; empty for the kernel's own id of it.
	Boot string
	// Bind publishes by bind mounts, which need privilege and Linux: see [folder.CanBind]. Otherwise links do.
	Bind   bool
	Logger *slog.Logger
}

// New returns the backend. Error: the mount table cannot be read or written.
func New(o Options) (*folder.Backend, error) {
	var m folder.Mounter = folder.Links{}
	if o.Bind {
		m = folder.NewBinds()
	}
	if o.Boot == "" {
		o.Boot = bootID()
	}
	return folder.New(folder.Options{
		Disks: disks{root: o.Root}, Mounter: m, Table: filepath.Join(o.StateDir, "mounts.json"), Boot: o.Boot, Logger: o.Logger,
	})
}

// bootID is what the kernel calls this boot; empty where it has no name for it.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

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
