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

// Options configure the backend.
type Options struct {
	// Root is the directory of the volumes' directories; it is created if needed.
	Root string
	// StateDir is the directory of the mount table. It must be per node and persistent.
	StateDir string
	// Boot identifies this boot of the node, as in package folder; the kernel's boot id when empty.
	Boot string
	// Bind publishes with bind mounts, which need privilege and Linux: see [folder.CanBind]. Otherwise with symlinks.
	Bind   bool
	Logger *slog.Logger
}

// New returns the backend. It returns an error if the mount table cannot be read or written.
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

// bootID returns the kernel's boot id, or "".
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// disks are the directories below root.
type disks struct{ root string }

// Find creates the directory of a volume if needed. A node does not get the size of a volume, so the disk is as large as the file
// system below it until it is expanded.
func (d disks) Find(_ context.Context, volume, _ string) (string, error) {
	dir := filepath.Join(d.root, "volume-"+url.PathEscape(volume)) // never "..", and without separators
	_, err := disk.Size(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return dir, err
	}
	size, err := d.room()
	if err == nil {
		err = disk.Create(dir, size)
	}
	if errors.Is(err, fs.ErrExist) { // another node with the same root was first
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

// Enlarged enlarges the disk, because no vCenter does.
func (d disks) Enlarged(_ context.Context, dir string, bytes int64) error {
	return disk.Resize(dir, bytes)
}
