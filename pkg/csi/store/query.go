package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/vmware/govmomi/cns"
	cnstypes "github.com/vmware/govmomi/cns/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

const mib = 1 << 20

func manager() ref { return cns.CnsVolumeManagerInstance }

func volumeID(id string) cnstypes.CnsVolumeId { return cnstypes.CnsVolumeId{Id: id} }

// Volume implements [volume.Store].
func (s *Store) Volume(ctx context.Context, id string) (v volume.Volume, err error) {
	defer s.observe("", "volume", time.Now(), &err)
	if id == "" {
		return v, fmt.Errorf("volume id: %w: empty", volume.ErrInvalid)
	}
	err = s.at(ctx, id, func(c *conn) (err error) {
		v, err = c.volume(ctx, id)
		return err
	})
	return v, err
}

// volume looks one up in this vCenter.
func (c *conn) volume(ctx context.Context, id string) (v volume.Volume, err error) {
	defer about(c, &err, "volume %s", id)
	found, err := c.query(ctx, cnstypes.CnsQueryFilter{VolumeIds: []cnstypes.CnsVolumeId{volumeID(id)}})
	if err != nil {
		return volume.Volume{}, err
	}
	for _, f := range found {
		if f.VolumeId.Id == id {
			return c.understood(f), nil
		}
	}
	return volume.Volume{}, volume.ErrNotFound
}

// understood is a volume in our words.
func (c *conn) understood(v cnstypes.CnsVolume) volume.Volume {
	u := volume.Volume{
		ID: v.VolumeId.Id, Name: v.Name, VCenter: c.name(), DatastoreURL: v.DatastoreUrl, Policy: v.StoragePolicyId,
		Healthy: healthy(v),
	}
	if v.BackingObjectDetails != nil {
		u.Capacity = v.BackingObjectDetails.GetCnsBackingObjectDetails().CapacityInMb * mib
	}
	if b, ok := v.BackingObjectDetails.(*cnstypes.CnsBlockBackingDetails); ok {
		u.File = b.BackingDiskPath
	}
	return u
}

// healthy is what CNS says of a volume and of the way to it. What it does not know is not ill.
func healthy(v cnstypes.CnsVolume) bool {
	access := strings.ToLower(v.DatastoreAccessibilityStatus)
	return !strings.EqualFold(v.HealthStatus, "red") &&
		access != "red" && access != "inaccessible" && !strings.HasPrefix(access, "not")
}

func isBlock(v cnstypes.CnsVolume) bool {
	return v.VolumeType == "" || v.VolumeType == string(cnstypes.CnsVolumeTypeBlock)
}
