package store

import (
	"context"
	"fmt"
	"time"

	cnsmethods "github.com/vmware/govmomi/cns/methods"
	cnstypes "github.com/vmware/govmomi/cns/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// Expand implements [volume.Store].
func (s *Store) Expand(ctx context.Context, id string, bytes int64) (size int64, err error) {
	defer s.observe("", "expand", time.Now(), &err)
	if id == "" || bytes < 0 {
		return 0, fmt.Errorf("expand volume %q to %d bytes: %w", id, bytes, volume.ErrInvalid)
	}
	what := fmt.Sprintf("expand volume %s to %d MiB", id, mebibytes(bytes))
	return join(ctx, s, id, what, func(ctx context.Context) (size int64, err error) {
		err = s.at(ctx, id, func(c *conn) (err error) {
			defer about(c, &err, "%s", what)
			size, err = c.expand(ctx, id, mebibytes(bytes))
			return err
		})
		return size, err
	})
}

func (c *conn) expand(ctx context.Context, id string, capacity int64) (size int64, err error) {
	v, err := c.volume(ctx, id)
	if err != nil {
		return 0, err
	}
	if v.Capacity >= capacity*mib {
		return v.Capacity, nil
	}
	_, err = c.operate(ctx, func(ctx context.Context, s *services) (ref, error) {
		res, err := cnsmethods.CnsExtendVolume(ctx, s.cns, &cnstypes.CnsExtendVolume{
			This: manager(), ExtendSpecs: []cnstypes.CnsVolumeExtendSpec{{VolumeId: volumeID(id), CapacityInMb: capacity}},
		})
		if err != nil {
			return ref{}, err
		}
		return res.Returnval, nil
	})
	if err != nil {
		return 0, c.blameSnapshots(ctx, id, err)
	}
	return capacity * mib, nil
}
