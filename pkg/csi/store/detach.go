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

// Detach implements [volume.Store]. Of a node whose VM is not known any more (n.VM is empty) CNS is told with the VM that
// the volume was attached to last, if that was this node's and was done here: so its record goes too.
func (s *Store) Detach(ctx context.Context, id string, n volume.Node) (err error) {
	defer s.observe(n.VCenter, "detach", time.Now(), &err)
	if n.VM == "" {
		last, ok := s.holders.vm(id, n)
		if !ok {
			return nil // there is no VM that it could be on
		}
		n = last
	}
	c, err := s.conn(n.VCenter)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("detach volume %s from %s", id, shown(n))
	_, err = join(ctx, s, id, what, func(ctx context.Context) (none struct{}, err error) {
		err = c.detach(ctx, id, n)
		if err == nil {
			s.holders.detached(id, n)
		}
		about(c, &err, "%s", what)
		return none, err
	})
	return err
}

func (c *conn) detach(ctx context.Context, id string, n volume.Node) error {
	_, err := c.operate(ctx, func(ctx context.Context, s *services) (ref, error) {
		res, err := cnsmethods.CnsDetachVolume(ctx, s.cns, &cnstypes.CnsDetachVolume{
			This: manager(), DetachSpecs: []cnstypes.CnsVolumeAttachDetachSpec{{VolumeId: volumeID(id), Vm: vm(n.VM)}},
		})
		if err != nil {
			return ref{}, err
		}
		return res.Returnval, nil
	})
	var f *faultError
	if !errors.As(err, &f) {
		return err
	}
	if errors.Is(err, volume.ErrNodeGone) {
		return nil // CNS has been told, and found no VM to take it off
	}
	// Whatever the reason given: a disk that the VM does not have is detached, and one that it has is not.
	uuid, diskErr := c.disk(ctx, id, vm(n.VM))
	switch {
	case errors.Is(diskErr, volume.ErrNodeGone):
		return nil
	case diskErr != nil:
		return fmt.Errorf("%s; whether the VM has it: %w", err, diskErr) // the doubt counts, not what was said before it
	case uuid == "":
		c.log.Debug("volume is not on the VM", "volume", id, "vm", n.VM, "err", err)
		return nil
	case errors.Is(err, volume.ErrNotFound):
		return fmt.Errorf("%w: the VM has the disk, CNS does not know it: %s", volume.ErrState, f.message)
	}
	return err
}
