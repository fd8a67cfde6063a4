package controller

import (
	"context"
	"maps"
	"slices"

	"github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// ListVolumes lists the cluster's volumes in the order of their ids, with the nodes that they are attached to.
//
// While a vCenter does not answer it is Unavailable, not shorter: external-attacher takes a volume that is missing here
// for one that is detached, and would attach it again.
func (c *Controller) ListVolumes(ctx context.Context, r *csi.ListVolumesRequest) (*csi.ListVolumesResponse, error) {
	// A token that is wrong costs the vCenters nothing.
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
			Volume: listed(v),
			Status: &csi.ListVolumesResponse_VolumeStatus{PublishedNodeIds: on[v.ID], VolumeCondition: condition(v)},
		})
	}
	return answer, nil
}

func volumeID(v volume.Volume) string { return v.ID }

// listed is a volume as listings show it.
func listed(v volume.Volume) *csi.Volume {
	return &csi.Volume{
		VolumeId:      v.ID,
		CapacityBytes: v.Capacity,
		VolumeContext: map[string]string{names.AttributeType: names.BlockVolume},
	}
}

// condition says what CNS says of the volume's health.
func condition(v volume.Volume) *csi.VolumeCondition {
	if v.Healthy {
		return &csi.VolumeCondition{Message: "healthy"}
	}
	return &csi.VolumeCondition{Abnormal: true, Message: "vcenter \"" + v.VCenter + "\" reports the volume unhealthy or its datastore " + v.DatastoreURL + " inaccessible"}
}

// published is the ids of the nodes of each volume, in order. A disk of a VM that is no node is published nowhere.
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
