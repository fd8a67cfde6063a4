package disks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/guest/loop"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
)

// byID is the folder of a guest's disks.
const byID = "/dev/disk/by-id"

// devices is the number of loop device files in a guest. Numbers are global: they must cover its disks, the devices that
// a kubelet makes of raw ones, and those of other guests.
const devices = 256

// Prepare returns a script that creates loop device files in a guest: a container only has those that existed at its
// start, and resizing a mounted file system needs its device file.
func (*Loops) Prepare() string {
	return fmt.Sprintf(`cd /dev && n=0 && while [ $n -lt %d ]; do [ -e loop$n ] || mknod -m 660 loop$n b 7 $n || exit 1; n=$((n+1)); done`, devices)
}

// Check returns a command that succeeds in a guest that sees the disk.
func (*Loops) Check(d node.Disk) []string {
	return []string{"blockdev", "--getsize64", path.Join(byID, names.DeviceLink(d.UUID))}
}

// Prepare returns no script.
func (*Links) Prepare() string { return "" }

// Check returns a command that succeeds in a guest that sees the disk.
func (*Links) Check(d node.Disk) []string {
	return []string{"test", "-f", path.Join(byID, names.DeviceLink(d.UUID), "disk.json")}
}

// Loops shows volumes as block devices. All VMs of a vCenter share one, since volumes move between them. Its methods may
// be called from any goroutine; those for one volume are serialized.
type Loops struct {
	// Dir returns the directory of a volume's disk (package csi/disk), or "" if the volume has none and must not be shown.
	Dir func(volumeID string) string
	// Patience is how long to wait for a guest to close a disk that is unplugged; default [DefaultPatience]. A guest that lost
	// power closes it within milliseconds; a hung one does not.
	Patience time.Duration
	// Pulled is called for a disk that was removed while its guest had it mounted; the guest then gets I/O errors. Optional.
	Pulled func(node.Disk)

	mu sync.Mutex
	at map[string]*loaded // by volume
}

// DefaultPatience is the default of Loops.Patience.
const DefaultPatience = 2 * time.Second

// loaded is the state of a volume's device.
type loaded struct {
	turn   chan struct{} // a lock: one operation at a time on the volume
	in     bool
	device loop.Device
	link   string // the device file in the folder of the guest that has it
}

// Supported returns nil if guests can be shown block devices in that folder, else the reason and what to do about it.
func (*Loops) Supported(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return loop.Probe(folder)
}

// enter locks the volume.
func (l *Loops) enter(ctx context.Context, volumeID string) (*loaded, error) {
	l.mu.Lock()
	v := l.at[volumeID]
	if v == nil {
		if l.at == nil {
			l.at = map[string]*loaded{}
		}
		v = &loaded{turn: make(chan struct{}, 1)}
		l.at[volumeID] = v
	}
	l.mu.Unlock()
	select {
	case v.turn <- struct{}{}:
		return v, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("disk of volume %s: %w", volumeID, ctx.Err())
	}
}

func (v *loaded) leave() { <-v.turn }

// Plug shows the disk to the guest with that by-id folder, and removes it from any other. It is idempotent.
func (l *Loops) Plug(ctx context.Context, folder string, d node.Disk) error {
	dir := l.Dir(d.VolumeID)
	if dir == "" || d.UUID == "" {
		return nil
	}
	v, err := l.enter(ctx, d.VolumeID)
	if err != nil {
		return err
	}
	defer v.leave()
	link := filepath.Join(folder, names.DeviceLink(d.UUID))
	if v.in && v.link != link {
		if err := l.takeOff(ctx, v, d); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if !v.in {
		if v.device, err = load(ctx, dir, l.patience()); err != nil {
			return fmt.Errorf("disk of volume %s: %w", d.VolumeID, err)
		}
		v.in, v.link = true, link
	}
	if err := v.device.CreateNode(link); err != nil {
		return errors.Join(fmt.Errorf("disk of volume %s: %w", d.VolumeID, err), l.takeOff(ctx, v, d))
	}
	return nil
}

// load attaches a volume's file, after it has detached the devices that a killed sandbox left.
func load(ctx context.Context, dir string, patience time.Duration) (loop.Device, error) {
	d, err := disk.Open(dir)
	if err != nil {
		return 0, err
	}
	file, err := d.Block()
	if err != nil {
		return 0, err
	}
	left, err := loop.ByFile(file)
	if err != nil {
		return 0, err
	}
	for _, old := range left {
		if _, err := old.Detach(ctx, patience); err != nil {
			return 0, err
		}
	}
	return loop.Attach(file, false)
}

// takeOff detaches a device. The caller holds the lock.
func (l *Loops) takeOff(ctx context.Context, v *loaded, d node.Disk) error {
	err := remove(v.link) // first, so that it is not opened again
	pinned, e := v.device.Detach(ctx, l.patience())
	if err = errors.Join(err, e); err != nil {
		return fmt.Errorf("disk of volume %s: %w", d.VolumeID, err)
	}
	v.in, v.link = false, ""
	if pinned && l.Pulled != nil {
		l.Pulled(d)
	}
	return nil
}

func (l *Loops) patience() time.Duration {
	if l.Patience > 0 {
		return l.Patience
	}
	return DefaultPatience
}

// Unplug removes the disk from the guest with that by-id folder. A disk that another guest has by now stays there; a
// missing one is no error.
func (l *Loops) Unplug(ctx context.Context, folder string, d node.Disk) error {
	v, err := l.enter(ctx, d.VolumeID)
	if err != nil {
		return err
	}
	defer v.leave()
	if !v.in || filepath.Dir(v.link) != filepath.Clean(folder) {
		return nil
	}
	return l.takeOff(ctx, v, d)
}

// Resize updates the size of the disk to its volume's. The guest sees that at once. It does nothing for an unplugged disk.
func (l *Loops) Resize(ctx context.Context, d node.Disk) error {
	return l.loaded(ctx, d, func(v *loaded) error {
		c, err := disk.Open(l.Dir(d.VolumeID))
		if err == nil {
			_, err = c.Block()
		}
		if err == nil {
			err = v.device.Resize()
		}
		return err
	})
}

// Flush writes the kernel's dirty pages of the disk to the volume, such as before a snapshot.
func (l *Loops) Flush(ctx context.Context, d node.Disk) error {
	return l.loaded(ctx, d, func(v *loaded) error { return v.device.Flush() })
}

// loaded calls f with a disk that a guest has.
func (l *Loops) loaded(ctx context.Context, d node.Disk, f func(*loaded) error) error {
	v, err := l.enter(ctx, d.VolumeID)
	if err != nil {
		return err
	}
	defer v.leave()
	if !v.in {
		return nil
	}
	if err := f(v); err != nil {
		return fmt.Errorf("disk of volume %s: %w", d.VolumeID, err)
	}
	return nil
}

// Links shows volumes as links to their directories. It has no state; its methods may be called from any goroutine.
type Links struct {
	// Dir returns the directory of a volume's disk, or "" if the volume has none and must not be shown.
	Dir func(volumeID string) string
	// Inside returns the directory's path in a container. Default: the same path.
	Inside func(dir string) string
	// AsRoot runs commands on directories that pods have written to; nil if this process runs as root.
	AsRoot AsRoot
}

// Supported returns nil.
func (*Links) Supported(string) error { return nil }

// Plug shows the disk to the guest with that by-id folder. It is idempotent.
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

// Unplug reverts Plug. A missing link is no error.
func (l *Links) Unplug(_ context.Context, folder string, d node.Disk) error {
	return remove(filepath.Join(folder, names.DeviceLink(d.UUID)))
}

// Resize does nothing: the directory has the size of its disk.
func (*Links) Resize(context.Context, node.Disk) error { return nil }

// Flush does nothing: the directory has all data.
func (*Links) Flush(context.Context, node.Disk) error { return nil }

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// AsRoot runs a shell script as root, with the directory dir at the same path, and returns when it has ended.
type AsRoot func(ctx context.Context, dir, script string, args ...string) error

// Scripts for AsRoot. A copy is moved into place as a whole, as in package disk.
const (
	copyScript   = `rm -rf -- "$2.new" && cp -a -- "$1" "$2.new" && mv -T -- "$2.new" "$2"`
	removeScript = `rm -rf -- "$1" "$1.new" "$1.gone"`
)

// Copy is [disk.Copy] for a volume with files of other users, usually root: a sandbox without root could neither read all
// of them nor preserve their owners.
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

// Remove is [disk.Remove] for such a directory.
func (l *Links) Remove(ctx context.Context, dir string) error {
	err := disk.Remove(dir)
	if l.AsRoot == nil || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return l.AsRoot(ctx, filepath.Dir(dir), removeScript, dir)
}
