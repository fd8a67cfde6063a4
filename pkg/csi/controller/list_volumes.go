package controller

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

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
		VolumeContext: map[string]string{names.AttributeType: names.BlockVolume},
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
