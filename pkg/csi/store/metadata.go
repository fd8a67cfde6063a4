package store

import (
	"context"
	"fmt"
	"time"

	cnsmethods "github.com/vmware/govmomi/cns/methods"
	cnstypes "github.com/vmware/govmomi/cns/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// SetMetadata implements [volume.Store].
func (s *Store) SetMetadata(ctx context.Context, id string, m volume.Metadata) (err error) {
	defer s.observe("", "metadata", time.Now(), &err)
	what := "set the metadata of volume " + id
	_, err = join(ctx, s, id, fmt.Sprintf("%s to %v", what, m), func(ctx context.Context) (none struct{}, err error) {
		return none, s.atVCenterOf(ctx, id, func(c *conn) (err error) {
			defer wrapError(c, &err, "%s", what)
			_, err = c.operate(ctx, func(ctx context.Context, svc *services) (ref, error) {
				res, err := cnsmethods.CnsUpdateVolumeMetadata(ctx, svc.cns, &cnstypes.CnsUpdateVolumeMetadata{
					This: manager(), UpdateSpecs: []cnstypes.CnsVolumeMetadataUpdateSpec{{
						VolumeId: volumeID(id), Metadata: metadata(s.opts.Cluster, svc.user, m),
					}},
				})
				if err != nil {
					return ref{}, err
				}
				return res.Returnval, nil
			})
			return err
		})
	})
	return err
}
