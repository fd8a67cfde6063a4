package csiupstream

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/lab"
)

const gib = int64(1) << 30

// callFor is how long a call may take, as the sidecars have it in upstream's manifests.
const callFor = 5 * time.Minute

func mount() *csi.VolumeCapability {
	return &csi.VolumeCapability{
		AccessType: &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{FsType: "ext4"}},
		AccessMode: &csi.VolumeCapability_AccessMode{Mode: csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER},
	}
}

// within asks for volumes in zones of a region, the first one preferred.
func within(region string, zones ...string) *csi.TopologyRequirement {
	r := new(csi.TopologyRequirement)
	for _, zone := range zones {
		r.Requisite = append(r.Requisite, &csi.Topology{Segments: map[string]string{regionKey: region, zoneKey: zone}})
	}
	r.Preferred = r.Requisite
	return r
}

func volumeRequest(name string, bytes int64, where *csi.TopologyRequirement) *csi.CreateVolumeRequest {
	return &csi.CreateVolumeRequest{
		Name: name, CapacityRange: &csi.CapacityRange{RequiredBytes: bytes}, VolumeCapabilities: []*csi.VolumeCapability{mount()},
		AccessibilityRequirements: where, Parameters: map[string]string{},
	}
}

func (w *world) create(req *csi.CreateVolumeRequest) *csi.Volume {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), callFor)
	defer cancel()
	res, err := w.csi.CreateVolume(ctx, req)
	if err != nil {
		w.t.Fatalf("volume %s: %v", req.Name, err)
	}
	return res.Volume
}

func (w *world) attach(volume string, m *lab.Machine) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(w.t.Context(), callFor)
	defer cancel()
	res, err := w.csi.ControllerPublishVolume(ctx, &csi.ControllerPublishVolumeRequest{
		VolumeId: volume, NodeId: m.UUID, VolumeCapability: mount(), VolumeContext: map[string]string{"type": "vSphere CNS Block Volume"},
	})
	return res.GetPublishContext(), err
}

func (w *world) mustAttach(volume string, m *lab.Machine) (disk string) {
	w.t.Helper()
	published, err := w.attach(volume, m)
	if err != nil {
		w.t.Fatalf("attach %s to %s: %v", volume, m.Name, err)
	}
	if published["type"] != "vSphere CNS Block Volume" || len(published["diskUUID"]) != 32 {
		w.t.Errorf("attach %s to %s: publish context %v", volume, m.Name, published)
	}
	return published["diskUUID"]
}

func (w *world) detach(volume string, m *lab.Machine) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), callFor)
	defer cancel()
	if _, err := w.csi.ControllerUnpublishVolume(ctx, &csi.ControllerUnpublishVolumeRequest{VolumeId: volume, NodeId: m.UUID}); err != nil {
		w.t.Fatalf("detach %s from %s: %v", volume, m.Name, err)
	}
}

func (w *world) expand(volume string, bytes int64) error {
	ctx, cancel := context.WithTimeout(w.t.Context(), callFor)
	defer cancel()
	res, err := w.csi.ControllerExpandVolume(ctx, &csi.ControllerExpandVolumeRequest{
		VolumeId: volume, CapacityRange: &csi.CapacityRange{RequiredBytes: bytes}, VolumeCapability: mount(),
	})
	if err == nil && res.CapacityBytes != bytes {
		w.t.Errorf("expansion of %s to %d gave %d", volume, bytes, res.CapacityBytes)
	}
	return err
}

func (w *world) delete(volume string) error {
	ctx, cancel := context.WithTimeout(w.t.Context(), callFor)
	defer cancel()
	_, err := w.csi.DeleteVolume(ctx, &csi.DeleteVolumeRequest{VolumeId: volume})
	return err
}

func (w *world) mustDelete(volume string) {
	w.t.Helper()
	if err := w.delete(volume); err != nil {
		w.t.Fatalf("delete %s: %v", volume, err)
	}
}

func (w *world) snapshot(volume, name string) *csi.Snapshot {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), callFor)
	defer cancel()
	res, err := w.csi.CreateSnapshot(ctx, &csi.CreateSnapshotRequest{SourceVolumeId: volume, Name: name})
	if err != nil {
		w.t.Fatalf("snapshot of %s: %v", volume, err)
	}
	return res.Snapshot
}

func (w *world) deleteSnapshot(id string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), callFor)
	defer cancel()
	if _, err := w.csi.DeleteSnapshot(ctx, &csi.DeleteSnapshotRequest{SnapshotId: id}); err != nil {
		w.t.Fatalf("delete snapshot %s: %v", id, err)
	}
}

// listed is what ListVolumes has: nodes by volume.
func (w *world) listed() map[string][]string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), callFor)
	defer cancel()
	all := map[string][]string{}
	req := new(csi.ListVolumesRequest)
	for {
		res, err := w.csi.ListVolumes(ctx, req)
		if err != nil {
			w.t.Fatalf("list volumes: %v", err)
		}
		for _, e := range res.Entries {
			all[e.Volume.VolumeId] = e.Status.GetPublishedNodeIds()
		}
		if req.StartingToken = res.NextToken; req.StartingToken == "" {
			return all
		}
	}
}

func (w *world) snapshots(volume string) []string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), callFor)
	defer cancel()
	res, err := w.csi.ListSnapshots(ctx, &csi.ListSnapshotsRequest{SourceVolumeId: volume})
	if err != nil {
		w.t.Fatalf("list snapshots: %v", err)
	}
	var ids []string
	for _, e := range res.Entries {
		ids = append(ids, e.Snapshot.SnapshotId)
	}
	return ids
}

// refused checks that a call failed with that code, and says so.
func refused(t *testing.T, what string, err error, code codes.Code, words string) {
	t.Helper()
	if status.Code(err) != code || !strings.Contains(strings.ToLower(err.Error()), words) {
		t.Errorf("%s: %v, want %s with %q", what, err, code, words)
	}
}
