package controller

import (
	"context"
	"errors"
	"log/slog"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// Config is the configuration of a [Controller].
type Config struct {
	Store volume.Store // required
	Nodes volume.Nodes // required
	// Migrated creates volumes of in-tree StorageClasses; they are refused when nil.
	Migrated Migrated
	// Logger receives decisions that no response contains, such as a skipped datastore; discarded when nil.
	Logger *slog.Logger
}

// Controller is the CSI Controller service. Create it with [New]. All methods are safe for concurrent use.
type Controller struct {
	csi.UnimplementedControllerServer

	store    volume.Store
	nodes    volume.Nodes
	migrated Migrated
	log      *slog.Logger
	flight   flight
	taken    snapshotNames
}

var _ csi.ControllerServer = (*Controller)(nil)

// New returns a Controller. It needs no Close.
func New(cfg Config) *Controller {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Controller{store: cfg.Store, nodes: cfg.Nodes, migrated: cfg.Migrated, log: cfg.Logger}
}

// ControllerGetCapabilities lists the implemented capabilities. Beyond upstream's list: GetCapacity, which shows full
// datastores to the scheduler, the condition of a volume, and ReadWriteOncePod.
func (c *Controller) ControllerGetCapabilities(context.Context, *csi.ControllerGetCapabilitiesRequest) (*csi.ControllerGetCapabilitiesResponse, error) {
	answer := &csi.ControllerGetCapabilitiesResponse{}
	for _, t := range []csi.ControllerServiceCapability_RPC_Type{
		csi.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME,
		csi.ControllerServiceCapability_RPC_PUBLISH_UNPUBLISH_VOLUME,
		csi.ControllerServiceCapability_RPC_EXPAND_VOLUME,
		csi.ControllerServiceCapability_RPC_CREATE_DELETE_SNAPSHOT,
		csi.ControllerServiceCapability_RPC_LIST_SNAPSHOTS,
		csi.ControllerServiceCapability_RPC_LIST_VOLUMES,
		csi.ControllerServiceCapability_RPC_LIST_VOLUMES_PUBLISHED_NODES,
		csi.ControllerServiceCapability_RPC_GET_CAPACITY,
		csi.ControllerServiceCapability_RPC_GET_VOLUME,
		csi.ControllerServiceCapability_RPC_VOLUME_CONDITION,
		csi.ControllerServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER,
	} {
		answer.Capabilities = append(answer.Capabilities, &csi.ControllerServiceCapability{
			Type: &csi.ControllerServiceCapability_Rpc{Rpc: &csi.ControllerServiceCapability_RPC{Type: t}},
		})
	}
	return answer, nil
}

// GetCapacity returns the capacity for volumes of a StorageClass in a topology: the sum of the free space of the allowed
// datastores, and as maximum volume size the free space of the emptiest. Without any datastore it returns 0, not an error.
func (c *Controller) GetCapacity(ctx context.Context, r *csi.GetCapacityRequest) (*csi.GetCapacityResponse, error) {
	if len(r.GetVolumeCapabilities()) > 0 {
		if err := checkCapabilities(r.GetVolumeCapabilities()); err != nil {
			return &csi.GetCapacityResponse{}, nil // no capacity for unsupported volumes
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
		return nil, invalid("capacity: %v; check the parameters of the StorageClass", err)
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
