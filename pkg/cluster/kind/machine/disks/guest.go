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

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/machine/loop"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
)

// byID is where a guest looks for disks.
const byID = "/dev/disk/by-id"

// devices is how many loop devices a guest has files for: for each disk that it may have, for one that a kubelet makes of it
// when it is used raw, and for those of other guests, since all are numbered together.
const devices = 256

// Prepare is a script that gives a guest files of loop devices: a container has those only that there were when it was started,
// and what is mounted is made larger by that name.
func (*Loops) Prepare() string {
	return fmt.Sprintf(`cd /dev && n=0 && while [ $n -lt %d ]; do [ -e loop$n ] || mknod -m 660 loop$n b 7 $n || exit 1; n=$((n+1)); done`, devices)
}

// Check is a command that succeeds in a guest that sees the disk.
func (*Loops) Check(d node.Disk) []string {
	return []string{"blockdev", "--getsize64", path.Join(byID, names.DeviceLink(d.UUID))}
}

// Prepare is empty: there is nothing to prepare.
func (*Links) Prepare() string { return "" }

// Check is a command that succeeds in a guest that sees the disk.
func (*Links) Check(d node.Disk) []string {
	return []string{"test", "-f", path.Join(byID, names.DeviceLink(d.UUID), "disk.json")}
}

// Loops shows a volume as a block device. One of them is for all machines of a vCenter, whose volumes go from one to another. Its methods may be called from any
// goroutine; those about one volume wait for each other.
type Loops struct {
	// Dir returns the directory of a volume's disk (package csi/disk), or "" if the volume has none and must not be shown.
	Dir func(volumeID string) string
	// Patience is how long a disk that is taken off is waited for while its guest holds it, before it is pulled out: 0 for
	// [DefaultPatience]. A guest that has lost power lets go in milliseconds; one that hangs does not.
	Patience time.Duration
	// Pulled is called for a disk that was removed while its guest had it mounted; the guest then gets I/O errors. Optional.
	Pulled func(node.Disk)

	mu sync.Mutex
	at map[string]*loaded // by volume
}

// DefaultPatience is that of [Loops].
const DefaultPatience = 2 * time.Second

// loaded is a volume's device, if it has one.
type loaded struct {
	turn   chan struct{} // a lock: one operation at a time on the volume
	in     bool
	device loop.Device
	link   string // the device file in the folder of the guest that has it
}

// Possible returns nil if guests can be shown block devices in that folder, else the reason and what to do about it.
func (*Loops) Possible(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return loop.Probe(folder)
}

// enter waits for the volume's turn.
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

// Plug has the guest whose by-id folder that is see the disk. Another that has it loses it. Again is harmless.
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
	if err := v.device.Node(link); err != nil {
		return errors.Join(fmt.Errorf("disk of volume %s: %w", d.VolumeID, err), l.takeOff(ctx, v, d))
	}
	return nil
}

// load makes a device of a volume's content. Of one that a sandbox has left which was killed there is another first.
func load(ctx context.Context, dir string, patience time.Duration) (loop.Device, error) {
	d, err := disk.Open(dir)
	if err != nil {
		return 0, err
	}
	file, err := d.Block()
	if err != nil {
		return 0, err
	}
	left, err := loop.Of(file)
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

// takeOff is the end of a device. The turn is the caller's.
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

// Unplug takes the disk off the guest whose by-id folder that is. A disk that another has by now stays there; what is not there
// is no error.
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

// Resize gives the disk the size that its volume has by now. The guest sees that at once. A disk that is on no guest needs
// nothing.
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

// Flush has what the kernel still holds of the disk written to the volume, such as before a snapshot is taken of it.
func (l *Loops) Flush(ctx context.Context, d node.Disk) error {
	return l.loaded(ctx, d, func(v *loaded) error { return v.device.Flush() })
}

// loaded does something with a disk that is on a guest.
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

// Links shows a volume as a link to its directory. It holds no state; its methods may be called from any goroutine.
type Links struct {
	// Dir returns the directory of a volume's disk, or "" if the volume has none and must not be shown.
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
