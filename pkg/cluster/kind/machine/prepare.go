package machine

import (
	"context"
	"fmt"
)

// prepare does in a container that has been started what a VM's hardware does: it has device files for the disks to come.
func (b *box) prepare(ctx context.Context) error {
	if b.ready == b.is.PID {
		return nil
	}
	if d := b.m.opts.Disks; d != nil {
		if script := d.Prepare(); script != "" {
			if err := b.guest(ctx, script); err != nil {
				return fmt.Errorf("its disks' devices: %w", err)
			}
		}
	}
	b.ready = b.is.PID
	b.m.plugs.newGuest()
	return nil
}
