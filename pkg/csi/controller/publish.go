package controller

import (
	"context"
	"fmt"

	"github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// ControllerPublishVolume attaches a volume to the VM of a node. The publish context is upstream's: the node service finds
// the disk by its UUID.
func (c *Controller) ControllerPublishVolume(ctx context.Context, r *csi.ControllerPublishVolumeRequest) (*csi.ControllerPublishVolumeResponse, error) {
	id, nodeID := r.GetVolumeId(), r.GetNodeId()
	switch {
	case id == "":
		return nil, invalid("volume id: missing")
	case nodeID == "":
		return nil, invalid("node id: missing")
	case r.GetReadonly():
		return nil, invalid("attach volume %s to node %s: a disk is attached for reading and writing: mount it read-only in the pod", id, nodeID)
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
		return nil, failed(err, "attach volume %s to %s", id, described(n))
	}
	return &csi.ControllerPublishVolumeResponse{PublishContext: map[string]string{
		names.AttributeType: names.BlockVolume,
		names.DiskUUID:      names.Compact(disk),
	}}, nil
}

// attachment is what attaching and detaching are about: a volume is never attached to a node and detached from it at the
// same time.
const attachment = "attachment of volume"

// described names a node and its VM.
func described(n volume.Node) string {
	name := n.Name
	if name == "" {
		name = n.ID
	}
	if n.VM == "" {
		return "node " + name
	}
	return fmt.Sprintf("node %s (VM %s of vcenter %q)", name, n.VM, n.VCenter)
}
