package disks

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
)

// AsRoot runs a shell script as root where it sees the directory dir at the same path, and returns when it has ended.
type AsRoot func(ctx context.Context, dir, script string, args ...string) error

// What is done as root. A copy is moved into place as a whole, as package disk does it.
const (
	copyScript   = `rm -rf -- "$2.new" && cp -a -- "$1" "$2.new" && mv -T -- "$2.new" "$2"`
	removeScript = `rm -rf -- "$1" "$1.new" "$1.gone"`
)

// Copy is [disk.Copy] of a volume in whose directory pods have written as users of theirs, root as a rule: a sandbox of a user
// who may use the container runtime, and is not root, could not read all of that, nor give it to whose it is.
func (l *Links) Copy(ctx context.Context, from, to string) error {
	if l.AsRoot == nil {
		return disk.Copy(ctx, from, to)
	}
	if _, err := disk.Size(from); err != nil {
		return err
	}
	if _, err := disk.Size(to); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fs.ErrExist, err)
	}
	return l.AsRoot(ctx, filepath.Dir(from), copyScript, from, to)
}

// Remove is [disk.Remove] of such a directory, or of one of them.
func (l *Links) Remove(ctx context.Context, dir string) error {
	err := disk.Remove(dir)
	if l.AsRoot == nil || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return l.AsRoot(ctx, filepath.Dir(dir), removeScript, dir)
}
