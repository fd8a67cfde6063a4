package controller

import (
	"context"
	"errors"
	"fmt"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// ControllerExpandVolume makes a volume at least as large as required, in use or not. The node service grows its file system.
func (c *Controller) ControllerExpandVolume(ctx context.Context, r *csi.ControllerExpandVolumeRequest) (*csi.ControllerExpandVolumeResponse, error) {
	id := r.GetVolumeId()
	switch {
	case id == "":
		return nil, invalid("volume id: missing")
	case r.GetCapacityRange().GetRequiredBytes() <= 0:
		return nil, invalid("expand volume %s: capacity range: no size required", id)
	}
	if r.GetVolumeCapability() != nil {
		if err := checkCapability(r.GetVolumeCapability()); err != nil {
			return nil, err
		}
	}
	bytes, err := size(r.GetCapacityRange(), 0)
	if err != nil {
		return nil, err
	}
	end, err := c.flight.begin("expand volume", id)
	if err != nil {
		return nil, err
	}
	defer end()
	now, err := c.store.Expand(ctx, id, bytes)
	if err != nil {
		return nil, failed(err, "expand volume %s to %d bytes", id, bytes)
	}
	if limit := r.GetCapacityRange().GetLimitBytes(); limit > 0 && now > limit {
		return nil, status.Errorf(codes.OutOfRange, "expand volume %s: it has %d bytes, which is more than the limit of %d, and never shrinks", id, now, limit)
	}
	return &csi.ControllerExpandVolumeResponse{
		CapacityBytes:         now,
		NodeExpansionRequired: r.GetVolumeCapability().GetBlock() == nil,
	}, nil
}

// DeleteVolume deletes a volume and its disk. It succeeds if the volume does not exist or the id is invalid, and returns
// FailedPrecondition if the volume is attached or has snapshots.
func (c *Controller) DeleteVolume(ctx context.Context, r *csi.DeleteVolumeRequest) (*csi.DeleteVolumeResponse, error) {
	id := r.GetVolumeId()
	if id == "" {
		return nil, invalid("volume id: missing")
	}
	end, err := c.flight.begin("delete volume", id)
	if err != nil {
		return nil, err
	}
	defer end()
	if err := c.store.Delete(ctx, id); err != nil && !errors.Is(err, volume.ErrNotFound) {
		return nil, failed(err, "delete volume %s", id)
	}
	return &csi.DeleteVolumeResponse{}, nil
}

// ValidateVolumeCapabilities confirms the capabilities of an existing volume, or returns why it cannot.
func (c *Controller) ValidateVolumeCapabilities(ctx context.Context, r *csi.ValidateVolumeCapabilitiesRequest) (*csi.ValidateVolumeCapabilitiesResponse, error) {
	switch {
	case r.GetVolumeId() == "":
		return nil, invalid("volume id: missing")
	case len(r.GetVolumeCapabilities()) == 0:
		return nil, invalid("volume capability: missing")
	}
	if _, err := c.store.Volume(ctx, r.GetVolumeId()); err != nil {
		return nil, failed(err, "volume %s", r.GetVolumeId())
	}
	if why := unconfirmed(r); why != nil {
		return &csi.ValidateVolumeCapabilitiesResponse{Message: status.Convert(why).Message()}, nil
	}
	return &csi.ValidateVolumeCapabilitiesResponse{Confirmed: &csi.ValidateVolumeCapabilitiesResponse_Confirmed{
		VolumeContext:      r.GetVolumeContext(),
		VolumeCapabilities: r.GetVolumeCapabilities(),
		Parameters:         r.GetParameters(),
	}}, nil
}

func unconfirmed(r *csi.ValidateVolumeCapabilitiesRequest) error {
	if kind, ok := r.GetVolumeContext()[names.AttributeType]; ok && kind != names.BlockVolume {
		return invalid("volume context: %s is %q, not %q", names.AttributeType, kind, names.BlockVolume)
	}
	if len(r.GetMutableParameters()) > 0 {
		return invalid("mutable parameters: this driver does not support volume attributes classes")
	}
	if _, err := readParameters(r.GetParameters()); err != nil {
		return err
	}
	return checkCapabilities(r.GetVolumeCapabilities())
}

// ControllerPublishVolume attaches a volume to the VM of a node. The publish context is upstream's: it has the UUID of the
// disk, by which the node service finds it.
func (c *Controller) ControllerPublishVolume(ctx context.Context, r *csi.ControllerPublishVolumeRequest) (*csi.ControllerPublishVolumeResponse, error) {
	id, nodeID := r.GetVolumeId(), r.GetNodeId()
	switch {
	case id == "":
		return nil, invalid("volume id: missing")
	case nodeID == "":
		return nil, invalid("node id: missing")
	case r.GetReadonly():
		return nil, invalid("attach volume %s to node %s: disks can only be attached read-write: mount the volume read-only in the pod", id, nodeID)
	}
	if err := checkCapability(r.GetVolumeCapability()); err != nil {
		return nil, err
	}
	end, err := c.flight.begin(attachment, id, nodeID)
	if err != nil {
		return nil, err
	}
	defer end()
	n, err := c.nodes.Node(ctx, nodeID)
	if err != nil {
		return nil, failed(err, "attach volume %s to node %s", id, nodeID)
	}
	disk, err := c.store.Attach(ctx, id, n)
	if err != nil {
		return nil, failed(err, "attach volume %s to %s", id, nodeText(n))
	}
	return &csi.ControllerPublishVolumeResponse{PublishContext: map[string]string{
		names.AttributeType: names.BlockVolume,
		names.DiskUUID:      names.Compact(disk),
	}}, nil
}

// attachment is the key of both attaching and detaching, so that they never run concurrently for a volume and a node.
const attachment = "attachment of volume"

// nodeText returns a node and its VM for messages.
func nodeText(n volume.Node) string {
	name := n.Name
	if name == "" {
		name = n.ID
	}
	if n.VM == "" {
		return "node " + name
	}
	return fmt.Sprintf("node %s (VM %s of vcenter %q)", name, n.VM, n.VCenter)
}

// ControllerUnpublishVolume detaches a volume from the VM of a node, or without a node id from all. It succeeds if the volume
// is not attached or does not exist.
func (c *Controller) ControllerUnpublishVolume(ctx context.Context, r *csi.ControllerUnpublishVolumeRequest) (*csi.ControllerUnpublishVolumeResponse, error) {
	id, nodeID := r.GetVolumeId(), r.GetNodeId()
	if id == "" {
		return nil, invalid("volume id: missing")
	}
	from := []string{nodeID}
	if nodeID == "" {
		var err error
		if from, err = c.publishedOn(ctx, id); err != nil && !errors.Is(err, volume.ErrNotFound) {
			return nil, failed(err, "nodes of volume %s", id)
		}
	}
	for _, nodeID := range from {
		if err := c.detach(ctx, id, nodeID); err != nil {
			return nil, err
		}
	}
	return &csi.ControllerUnpublishVolumeResponse{}, nil
}

// detach detaches the volume from a node. It also calls the store for a node whose VM is gone, because CNS may still have the
// disk attached to that VM, and would not attach it to another. Upstream does not (controller.go, on ErrVMNotFound), and the
// volume stays stuck.
func (c *Controller) detach(ctx context.Context, id, nodeID string) error {
	end, err := c.flight.begin(attachment, id, nodeID)
	if err != nil {
		return err
	}
	defer end()
	n, err := c.nodes.Node(ctx, nodeID)
	switch {
	case nodeGone(err):
		c.log.Info("node has no VM", "volume", id, "node", nodeID, "err", err)
		n = volume.Node{ID: nodeID}
	case err != nil:
		return failed(err, "detach volume %s from node %s", id, nodeID)
	}
	// The store returns no error for a volume that does not exist or is not attached. After any other the disk may be attached.
	if err := c.store.Detach(ctx, id, n); err != nil && !nodeGone(err) {
		return failed(err, "detach volume %s from %s", id, nodeText(n))
	}
	return nil
}

// nodeGone reports that the VM certainly does not exist.
func nodeGone(err error) bool {
	return errors.Is(err, volume.ErrNodeGone) && !errors.Is(err, volume.ErrUnavailable)
}

// publishedOn returns the ids of the nodes that a volume is attached to.
func (c *Controller) publishedOn(ctx context.Context, id string) ([]string, error) {
	attached, err := c.store.Attachments(ctx, id)
	if err != nil {
		return nil, err
	}
	return published(attached)[id], nil
}
