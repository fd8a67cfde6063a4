package controller

import (
	"context"
	"errors"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// GetCapacity returns how much room there is for volumes of a StorageClass in a topology: the sum of what the datastores
// have free that such a volume may lie on, and as the largest volume, what the emptiest has. Nowhere is no error but 0.
func (c *Controller) GetCapacity(ctx context.Context, r *csi.GetCapacityRequest) (*csi.GetCapacityResponse, error) {
	if len(r.GetVolumeCapabilities()) > 0 {
		if err := checkCapabilities(r.GetVolumeCapabilities()); err != nil {
			return &csi.GetCapacityResponse{}, nil // of volumes that cannot be there is room for none
		}
	}
	p, err := readParameters(r.GetParameters())
	if err != nil {
		return nil, err
	}
	requirement := volume.Requirement{Policy: p.policy, DatastoreURL: p.datastoreURL}
	if t := r.GetAccessibleTopology(); t != nil {
		requirement.Requisite = segmentsOf([]*csi.Topology{t})
	}
	places, err := c.nodes.Places(ctx, requirement)
	switch {
	case errors.Is(err, volume.ErrNoDatastore):
		return &csi.GetCapacityResponse{}, nil
	case errors.Is(err, volume.ErrNotFound):
		return nil, invalid("capacity: %v; see the parameters of the StorageClass", err)
	case err != nil:
		return nil, failed(err, "capacity")
	}
	type key struct{ vcenter, url string }
	seen := map[key]bool{}
	var sum, largest int64
	for _, place := range places {
		for _, d := range place.Datastores {
			if k := (key{d.VCenter, d.URL}); !seen[k] {
				seen[k] = true
				sum, largest = sum+max(d.Free, 0), max(largest, d.Free)
			}
		}
	}
	return &csi.GetCapacityResponse{
		AvailableCapacity: sum,
		MaximumVolumeSize: wrapperspb.Int64(min(largest/mib*mib, maxSize)),
		MinimumVolumeSize: wrapperspb.Int64(mib),
	}, nil
}
