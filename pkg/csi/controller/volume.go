package controller

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

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
	case names.IsFileVolume(id):
		return nil, status.Errorf(codes.FailedPrecondition, "expand volume %s: a file volume cannot be expanded: create a larger one and copy its data", id)
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
	kind := kindOf(volume.Volume{ID: r.GetVolumeId()})
	if is, ok := r.GetVolumeContext()[names.AttributeType]; ok && is != kind {
		return invalid("volume context: %s is %q, not %q", names.AttributeType, is, kind)
	}
	if !names.IsFileVolume(r.GetVolumeId()) && slices.ContainsFunc(r.GetVolumeCapabilities(), isShared) {
		return invalid("volume %s: a disk is used on one node at a time", r.GetVolumeId())
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
	case r.GetReadonly() && !names.IsFileVolume(id):
		return nil, invalid("attach volume %s to node %s: disks can only be attached read-write: mount the volume read-only in the pod", id, nodeID)
	}
	if err := checkCapability(r.GetVolumeCapability()); err != nil {
		return nil, err
	}
	if names.IsFileVolume(id) {
		return c.publishShare(ctx, id)
	}
	if isShared(r.GetVolumeCapability()) {
		return nil, invalid("attach volume %s: access mode %s: a disk is used on one node at a time", id, r.GetVolumeCapability().GetAccessMode().GetMode())
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

// publishShare returns the export of a file volume, which the node mounts: nothing is attached to its VM.
func (c *Controller) publishShare(ctx context.Context, id string) (*csi.ControllerPublishVolumeResponse, error) {
	v, err := c.store.Volume(ctx, id)
	if err != nil {
		return nil, failed(err, "file volume %s", id)
	}
	if v.Export == "" {
		return nil, status.Errorf(codes.Internal, "file volume %s: vcenter %q reports no NFS 4.1 export", id, v.VCenter)
	}
	return &csi.ControllerPublishVolumeResponse{PublishContext: map[string]string{
		names.AttributeType: names.FileVolume, names.Export: v.Export,
	}}, nil
}

// kindOf returns the kind of a volume, as in its context.
func kindOf(v volume.Volume) string {
	if names.IsFileVolume(v.ID) {
		return names.FileVolume
	}
	return names.BlockVolume
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
	if names.IsFileVolume(id) {
		return &csi.ControllerUnpublishVolumeResponse{}, nil
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

// ListVolumes lists the cluster's volumes in the order of their ids, with the nodes that they are attached to.
//
// While a vCenter does not respond, it returns Unavailable, not a shorter list: external-attacher treats a missing volume as
// detached, and would attach it again.
func (c *Controller) ListVolumes(ctx context.Context, r *csi.ListVolumesRequest) (*csi.ListVolumesResponse, error) {
	// Check the token before calls to vCenters.
	if _, _, err := page(nil, volumeID, r.GetStartingToken(), r.GetMaxEntries()); err != nil {
		return nil, err
	}
	volumes, attached, err := c.store.Volumes(ctx)
	if err != nil {
		return nil, failed(err, "list volumes")
	}
	volumes, next, err := page(volumes, volumeID, r.GetStartingToken(), r.GetMaxEntries())
	if err != nil {
		return nil, err
	}
	on := published(attached)
	answer := &csi.ListVolumesResponse{NextToken: next}
	for _, v := range volumes {
		answer.Entries = append(answer.Entries, &csi.ListVolumesResponse_Entry{
			Volume: csiVolume(v),
			Status: &csi.ListVolumesResponse_VolumeStatus{PublishedNodeIds: on[v.ID], VolumeCondition: condition(v)},
		})
	}
	return answer, nil
}

func volumeID(v volume.Volume) string { return v.ID }

// csiVolume returns a volume for listings.
func csiVolume(v volume.Volume) *csi.Volume {
	return &csi.Volume{
		VolumeId:      v.ID,
		CapacityBytes: v.Capacity,
		VolumeContext: map[string]string{names.AttributeType: kindOf(v)},
	}
}

// condition returns the health of the volume according to CNS.
func condition(v volume.Volume) *csi.VolumeCondition {
	if v.Healthy {
		return &csi.VolumeCondition{Message: "healthy"}
	}
	return &csi.VolumeCondition{Abnormal: true, Message: "vcenter \"" + v.VCenter + "\" reports the volume unhealthy or its datastore " + v.DatastoreURL + " inaccessible"}
}

// published returns the sorted ids of the nodes by volume. Attachments to VMs that are not nodes are omitted.
func published(attached []volume.Attached) map[string][]string {
	on := map[string]map[string]bool{}
	for _, a := range attached {
		if a.Node.ID == "" {
			continue
		}
		if on[a.Volume] == nil {
			on[a.Volume] = map[string]bool{}
		}
		on[a.Volume][a.Node.ID] = true
	}
	ids := make(map[string][]string, len(on))
	for v, nodes := range on {
		ids[v] = slices.Sorted(maps.Keys(nodes))
	}
	return ids
}

// ControllerGetVolume returns one volume with its condition and its nodes.
func (c *Controller) ControllerGetVolume(ctx context.Context, r *csi.ControllerGetVolumeRequest) (*csi.ControllerGetVolumeResponse, error) {
	if r.GetVolumeId() == "" {
		return nil, invalid("volume id: missing")
	}
	v, err := c.store.Volume(ctx, r.GetVolumeId())
	if err != nil {
		return nil, failed(err, "volume %s", r.GetVolumeId())
	}
	on, err := c.publishedOn(ctx, v.ID)
	if err != nil {
		return nil, failed(err, "nodes of volume %s", v.ID)
	}
	return &csi.ControllerGetVolumeResponse{
		Volume: csiVolume(v),
		Status: &csi.ControllerGetVolumeResponse_VolumeStatus{PublishedNodeIds: on, VolumeCondition: condition(v)},
	}, nil
}

// tokenPrefix identifies our tokens and their version.
const tokenPrefix = "after:"

// token returns a token for the page after the entry with this id. It contains nothing else, so that it stays valid after a
// restart, and pages neither repeat nor skip entries that exist the whole time.
func token(id string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(tokenPrefix + id))
}

// page returns a page of entries, which are in the order of their ids. limit is the number of entries, 0 for all.
func page[T any](all []T, id func(T) string, starting string, limit int32) (entries []T, next string, err error) {
	if limit < 0 {
		return nil, "", invalid("max entries: %d: must not be negative", limit)
	}
	if starting != "" {
		text, err := base64.RawURLEncoding.DecodeString(starting)
		after, ok := strings.CutPrefix(string(text), tokenPrefix)
		if err != nil || !ok || after == "" {
			return nil, "", failed(fmt.Errorf("%q: %w", starting, volume.ErrToken), "starting token")
		}
		n, found := slices.BinarySearchFunc(all, after, func(e T, after string) int { return strings.Compare(id(e), after) })
		if found {
			n++
		}
		all = all[n:]
	}
	if limit > 0 && len(all) > int(limit) {
		all = all[:limit]
		next = token(id(all[limit-1]))
	}
	return all, next, nil
}
