package hollow

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/byid"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// disks are those that links in the by-id folder lead to.
type disks struct {
	byID    string
	timeout time.Duration
}

func (d disks) Find(ctx context.Context, _, uuid string) (string, error) {
	return byid.Wait(ctx, d.byID, uuid, d.timeout)
}

// Enlarged waits: the vCenter, which makes the disk larger, may have said so a moment before it is.
func (d disks) Enlarged(ctx context.Context, dir string, bytes int64) error {
	var is int64
	err := byid.Until(ctx, dir, d.timeout, func() (bool, error) {
		var err error
		is, err = disk.Size(dir)
		return is >= bytes, err
	})
	if errors.Is(err, byid.ErrTimeout) {
		return fmt.Errorf("disk has %d bytes, not the %d required: %w", is, bytes, volume.ErrUnavailable)
	}
	return err
}
