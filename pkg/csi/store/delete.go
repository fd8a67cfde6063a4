package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	cnsmethods "github.com/vmware/govmomi/cns/methods"
	cnstypes "github.com/vmware/govmomi/cns/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// Delete implements [volume.Store].
func (s *Store) Delete(ctx context.Context, id string) (err error) {
	defer s.observe("", "delete", time.Now(), &err)
	if id == "" {
		return fmt.Errorf("delete volume: %w: empty id", volume.ErrInvalid)
	}
	_, err = join(ctx, s, id, "delete volume "+id, func(ctx context.Context) (none struct{}, err error) {
		err = s.at(ctx, id, func(c *conn) error { return c.delete(ctx, id) })
		if err == nil || errors.Is(err, volume.ErrNotFound) {
			s.holders.forget(id)
			return none, nil
		}
		return none, err
	})
	return err
}

func (c *conn) delete(ctx context.Context, id string) (err error) {
	defer about(c, &err, "delete volume %s", id)
	_, err = c.operate(ctx, func(ctx context.Context, s *services) (ref, error) {
		res, err := cnsmethods.CnsDeleteVolume(ctx, s.cns, &cnstypes.CnsDeleteVolume{
			This: manager(), VolumeIds: []cnstypes.CnsVolumeId{volumeID(id)}, DeleteDisk: true,
		})
		if err != nil {
			return ref{}, err
		}
		return res.Returnval, nil
	})
	return c.blameSnapshots(ctx, id, err)
}

// blameSnapshots looks whether it is a volume's snapshots that something was refused for, where the fault does not say.
func (c *conn) blameSnapshots(ctx context.Context, id string, err error) error {
	var f *faultError
	if !errors.As(err, &f) || f.kind != nil && !errors.Is(f.kind, volume.ErrState) && !errors.Is(f.kind, volume.ErrInvalid) {
		return err
	}
	if found, listErr := c.snapshots(ctx, volume.SnapshotRef{Volume: id}); listErr == nil && len(found) > 0 {
		f.kind = volume.ErrSnapshots
		return fmt.Errorf("%d of them: %w", len(found), err)
	}
	return err
}
