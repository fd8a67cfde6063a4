package disks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/machine/loop"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
)

// Loops shows a volume as a block device. One of them is for all machines of a vCenter, whose volumes go from one to another. Its methods may be called from any
// goroutine; those about one volume wait for each other.
type Loops struct {
	// Dir returns the directory that stands for a volume's disk (package csi/disk); empty: there is none, and it is not shown.
	Dir func(volumeID string) string
	// Patience is how long a disk that is taken off is waited for while its guest holds it, before it is pulled out: 0 for
	// [DefaultPatience]. A guest that has lost power lets go in milliseconds; one that hangs does not.
	Patience time.Duration
	// Pulled is told of a disk that was pulled out of a guest that had it mounted, which gets errors from then on. Nil: nobody
	// is told.
	Pulled func(node.Disk)

	mu sync.Mutex
	at map[string]*loaded // by volume
}

// DefaultPatience is that of [Loops].
const DefaultPatience = 2 * time.Second

// loaded is a volume's device, if it has one.
type loaded struct {
	turn   chan struct{} // holds the turn of whoever does something with the volume
	in     bool
	device loop.Device
	link   string // the device file in the folder of the guest that has it
}

// Possible tells whether guests can be shown block devices in that folder, and if not, why and what to do about that.
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
	err := remove(v.link) // first: whoever looks for it from now on does not find it
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
