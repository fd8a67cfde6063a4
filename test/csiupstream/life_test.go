package csiupstream

import (
	"context"
	"slices"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
)

const oneVCenter = `apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: csiupstream}
spec:
  vcenters:
    - name: vc
      policies:
        - {name: on vmfs, types: [vmfs]}
        - {name: on vsan, types: [vsan]}
      datacenters:
        - name: dc
          region: us
          clusters:
            - {name: a, zone: zone-a, hosts: [{name: "a-{n}", replicas: 2}]}
            - {name: b, zone: zone-b, hosts: [{name: "b-{n}", replicas: 2}]}
          vms:
            - {name: "worker-a-{n}", replicas: 2, cluster: a, role: worker}
            - {name: "worker-b-{n}", replicas: 2, cluster: b, role: worker}
`

// TestLife: volumes are created in their zone, attached, expanded, snapshotted, restored, detached, moved and deleted;
// what vSphere rejects is rejected; at the end the driver retries nothing.
func TestLife(t *testing.T) {
	w := start(t, oneVCenter)
	a1, a2, b1 := w.Machine("worker-a-1"), w.Machine("worker-a-2"), w.Machine("worker-b-1")

	// Provision.
	request := volumeRequest("pvc-1", gib, within("us", "zone-a"))
	v := w.create(request)
	if again := w.create(request); again.VolumeId != v.VolumeId {
		t.Errorf("a second volume of the name: %s, %s", v.VolumeId, again.VolumeId)
	}
	if on := w.datastore("vc", v.VolumeId); on != "zone-a-ds" {
		t.Errorf("the volume of zone-a is on %s", on)
	}
	want := []*csi.Topology{{Segments: map[string]string{regionKey: "us", zoneKey: "zone-a"}}}
	if diff := cmp.Diff(want[0].Segments, v.AccessibleTopology[0].Segments); diff != "" || len(v.AccessibleTopology) != 1 {
		t.Errorf("accessible from (-want +got):\n%s", diff)
	}
	other := w.create(volumeRequest("pvc-2", gib, within("us", "zone-a")))
	far := w.create(volumeRequest("pvc-3", gib, within("us", "zone-b")))
	if on := w.datastore("vc", far.VolumeId); on != "zone-b-ds" {
		t.Errorf("the volume of zone-b is on %s", on)
	}
	either := w.create(volumeRequest("pvc-either", gib, within("us", "zone-a", "zone-b")))
	if zone := either.AccessibleTopology[0].Segments[zoneKey]; w.datastore("vc", either.VolumeId) != zone+"-ds" {
		t.Errorf("the volume of either zone is on %s, and accessible from %s", w.datastore("vc", either.VolumeId), zone)
	}

	// Attach.
	uuid := w.mustAttach(v.VolumeId, a1)
	if again := w.mustAttach(v.VolumeId, a1); again != uuid {
		t.Errorf("attached again it is disk %s, was %s", again, uuid)
	}
	second := w.mustAttach(other.VolumeId, a1)
	third := w.mustAttach(far.VolumeId, b1)
	wantDisks := map[string]disk{v.VolumeId: {uuid, gib, true}, other.VolumeId: {second, gib, true}}
	if diff := cmp.Diff(wantDisks, w.disks(a1), cmp.AllowUnexported(disk{})); diff != "" {
		t.Errorf("disks of worker-a-1 (-want +got):\n%s", diff)
	}
	if uuid == second || third == uuid || third == second {
		t.Errorf("disks have one UUID: %s, %s, %s", uuid, second, third)
	}
	if _, err := w.attach(v.VolumeId, a2); err == nil {
		t.Error("a volume was attached to a second VM")
	}
	nodes := map[string][]string{v.VolumeId: {a1.UUID}, other.VolumeId: {a1.UUID}, far.VolumeId: {b1.UUID}}
	if diff := cmp.Diff(nodes, w.listed()); diff != "" {
		t.Errorf("volumes and their nodes (-want +got):\n%s", diff)
	}
	if err := w.delete(v.VolumeId); err == nil {
		t.Error("a volume was deleted while it was attached")
	}

	// Expand, attached and not.
	if err := w.expand(v.VolumeId, 2*gib); err != nil {
		t.Error(err)
	}
	if got := w.disks(a1)[v.VolumeId].bytes; got != 2*gib {
		t.Errorf("the VM's disk has %d bytes after the expansion", got)
	}

	// Snapshot and restore.
	s := w.snapshot(v.VolumeId, "snapshot-1")
	if again := w.snapshot(v.VolumeId, "snapshot-1"); again.SnapshotId != s.SnapshotId {
		t.Errorf("a second snapshot of the name: %s, %s", s.SnapshotId, again.SnapshotId)
	}
	if s.SizeBytes != 2*gib || s.SourceVolumeId != v.VolumeId || !s.ReadyToUse {
		t.Errorf("snapshot %v", s)
	}
	if got := w.snapshots(v.VolumeId); !slices.Equal(got, []string{s.SnapshotId}) {
		t.Errorf("snapshots %v, want %s", got, s.SnapshotId)
	}
	refused(t, "expansion of a volume with snapshots", w.expand(v.VolumeId, 3*gib), codes.FailedPrecondition, "snapshot")
	restore := volumeRequest("pvc-4", 2*gib, within("us", "zone-a"))
	restore.VolumeContentSource = &csi.VolumeContentSource{Type: &csi.VolumeContentSource_Snapshot{
		Snapshot: &csi.VolumeContentSource_SnapshotSource{SnapshotId: s.SnapshotId},
	}}
	restored := w.create(restore)
	if got := w.volume("vc", restored.VolumeId).BackingObjectDetails.GetCnsBackingObjectDetails().CapacityInMb; got != 2048 {
		t.Errorf("what was restored has %d MB", got)
	}

	// Detach, move.
	w.detach(v.VolumeId, a1)
	w.detach(v.VolumeId, a1)
	if _, still := w.disks(a1)[v.VolumeId]; still {
		t.Error("the VM still has the disk")
	}
	if err := w.delete(v.VolumeId); err == nil {
		t.Error("a volume was deleted with a snapshot")
	}
	if moved := w.mustAttach(v.VolumeId, a2); moved != uuid {
		t.Errorf("on another VM it is disk %s, was %s", moved, uuid)
	}
	w.detach(v.VolumeId, a2)
	w.deleteSnapshot(s.SnapshotId)
	w.deleteSnapshot(s.SnapshotId)
	if err := w.expand(v.VolumeId, 3*gib); err != nil {
		t.Error(err)
	}

	// Policies.
	vmfs := volumeRequest("pvc-5", gib, within("us", "zone-b"))
	vmfs.Parameters["storagepolicyname"] = "on vmfs"
	byPolicy := w.create(vmfs)
	if on := w.datastore("vc", byPolicy.VolumeId); on != "zone-b-ds" {
		t.Errorf("the volume by policy is on %s", on)
	}
	vsan := volumeRequest("pvc-6", gib, within("us", "zone-b"))
	vsan.Parameters["storagepolicyname"] = "on vsan"
	ctx, cancel := context.WithTimeout(t.Context(), callFor)
	defer cancel()
	if _, err := w.csi.CreateVolume(ctx, vsan); err == nil {
		t.Error("a volume was made that no datastore suits")
	}

	// A volume in use stays in use while nothing happens.
	w.quiet()
	if diff := cmp.Diff(map[string][]string{other.VolumeId: {a1.UUID}, far.VolumeId: {b1.UUID}}, w.listed()); diff != "" {
		t.Errorf("volumes and their nodes (-want +got):\n%s", diff)
	}

	// Delete.
	w.detach(other.VolumeId, a1)
	w.detach(far.VolumeId, b1)
	for _, id := range []string{v.VolumeId, other.VolumeId, far.VolumeId, restored.VolumeId, byPolicy.VolumeId, either.VolumeId} {
		w.mustDelete(id)
		w.mustDelete(id)
		if w.volume("vc", id) != nil {
			t.Errorf("CNS still has volume %s", id)
		}
	}
}
