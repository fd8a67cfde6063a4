package controller_test

import (
	"fmt"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/controller"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

func snapshot(t *testing.T, c *controller.Controller, name, of string) *csi.Snapshot {
	t.Helper()
	answer, err := c.CreateSnapshot(t.Context(), &csi.CreateSnapshotRequest{
		Name: name, SourceVolumeId: of, Parameters: map[string]string{"csi.storage.k8s.io/volumesnapshot/name": "nightly"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return answer.GetSnapshot()
}

// restore requests a volume with the content of a snapshot.
func restore(name, snapshot string, bytes int64, zones ...string) *csi.CreateVolumeRequest {
	r := request(name, bytes, zones...)
	r.VolumeContentSource = &csi.VolumeContentSource{Type: &csi.VolumeContentSource_Snapshot{
		Snapshot: &csi.VolumeContentSource_SnapshotSource{SnapshotId: snapshot},
	}}
	return r
}

func TestSnapshot(t *testing.T) {
	_, c := newCluster(t)
	id := create(t, c, request("v", gib, "a")).GetVolumeId()
	other := create(t, c, request("w", gib, "a")).GetVolumeId()
	s := snapshot(t, c, "s", id)
	if s.GetSizeBytes() != gib || s.GetSourceVolumeId() != id || !s.GetReadyToUse() || s.GetCreationTime() == nil {
		t.Error(s)
	}
	if again := snapshot(t, c, "s", id); again.GetSnapshotId() != s.GetSnapshotId() {
		t.Errorf("a second one %s", again.GetSnapshotId())
	}
	_, err := c.CreateSnapshot(t.Context(), &csi.CreateSnapshotRequest{Name: "s", SourceVolumeId: other})
	wantCode(t, err, codes.AlreadyExists)
	_, err = c.CreateSnapshot(t.Context(), &csi.CreateSnapshotRequest{Name: "t", SourceVolumeId: "none"})
	wantCode(t, err, codes.NotFound)
	_, err = c.DeleteVolume(t.Context(), &csi.DeleteVolumeRequest{VolumeId: id})
	wantCode(t, err, codes.FailedPrecondition)
	for _, gone := range []string{s.GetSnapshotId(), s.GetSnapshotId(), "nonsense", id + "+none"} {
		if _, err := c.DeleteSnapshot(t.Context(), &csi.DeleteSnapshotRequest{SnapshotId: gone}); err != nil {
			t.Errorf("%s: %v", gone, err)
		}
	}
	snapshot(t, c, "s", other) // the name is free again
}

// A name is free as soon as its snapshot has been deleted by any client.
func TestSnapshotNameFree(t *testing.T) {
	fake, c := newCluster(t)
	id := create(t, c, request("v", gib, "a")).GetVolumeId()
	other := create(t, c, request("w", gib, "a")).GetVolumeId()
	snapshot(t, c, "s", id)
	all, err := fake.Snapshots(t.Context(), volume.SnapshotRef{Volume: id})
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	if err := fake.DeleteSnapshot(t.Context(), all[0].SnapshotRef); err != nil {
		t.Fatal(err)
	}
	snapshot(t, c, "s", other)
}

// A restored volume has the size of the snapshot and is on the same datastore.
func TestRestore(t *testing.T) {
	fake, c := newCluster(t)
	id := create(t, c, request("v", 3*gib, "a", "b")).GetVolumeId()
	s := snapshot(t, c, "s", id).GetSnapshotId()
	for _, bytes := range []int64{0, 3 * gib} {
		v := create(t, c, restore(fmt.Sprint("w-", bytes), s, bytes, "b", "a"))
		at, err := fake.Volume(t.Context(), v.GetVolumeId())
		if err != nil {
			t.Fatal(err)
		}
		if at.DatastoreURL != "ds:///vmfs/volumes/a/" || at.Capacity != 3*gib || v.GetContentSource().GetSnapshot().GetSnapshotId() != s {
			t.Errorf("%+v, %v", at, v)
		}
		if _, source := fake.Metadata(v.GetVolumeId()); source.Volume != id {
			t.Errorf("of volume %q", source.Volume)
		}
	}
	for _, test := range []struct {
		name string
		r    *csi.CreateVolumeRequest
		code codes.Code
	}{
		{"smaller", restore("x", s, gib, "a"), codes.OutOfRange},
		{"larger", restore("x", s, 4*gib, "a"), codes.OutOfRange},
		{"elsewhere", restore("x", s, 0, "b"), codes.ResourceExhausted},
		{"another vCenter", restore("x", s, 0, "c"), codes.ResourceExhausted},
		{"no snapshot", restore("x", id+"+none", 0, "a"), codes.NotFound},
		{"no volume", restore("x", "none+none", 0, "a"), codes.NotFound},
		{"no id", restore("x", "nonsense", 0, "a"), codes.NotFound},
		{"empty id", restore("x", "", 0, "a"), codes.InvalidArgument},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := c.CreateVolume(t.Context(), test.r)
			wantCode(t, err, test.code)
		})
	}
}

func TestListSnapshots(t *testing.T) {
	_, c := newCluster(t)
	var all, ofFirst []string
	var first string
	for i := range 3 {
		id := create(t, c, request(fmt.Sprint("v", i), gib, "a")).GetVolumeId()
		for j := range 3 {
			s := snapshot(t, c, fmt.Sprint(i, j), id).GetSnapshotId()
			all = append(all, s)
			if i == 0 {
				first, ofFirst = id, append(ofFirst, s)
			}
		}
	}
	list := func(r *csi.ListSnapshotsRequest) (ids []string) {
		t.Helper()
		for {
			answer, err := c.ListSnapshots(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range answer.GetEntries() {
				ids = append(ids, e.GetSnapshot().GetSnapshotId())
			}
			if r.StartingToken = answer.GetNextToken(); r.StartingToken == "" {
				return ids
			}
		}
	}
	for name, test := range map[string]struct {
		r    *csi.ListSnapshotsRequest
		want []string
	}{
		"all":              {&csi.ListSnapshotsRequest{}, all},
		"pages":            {&csi.ListSnapshotsRequest{MaxEntries: 2}, all},
		"of a volume":      {&csi.ListSnapshotsRequest{SourceVolumeId: first}, ofFirst},
		"one":              {&csi.ListSnapshotsRequest{SnapshotId: all[4]}, all[4:5]},
		"one, of a volume": {&csi.ListSnapshotsRequest{SnapshotId: all[0], SourceVolumeId: first}, all[:1]},
		"one, of another":  {&csi.ListSnapshotsRequest{SnapshotId: all[8], SourceVolumeId: first}, nil},
		"none":             {&csi.ListSnapshotsRequest{SnapshotId: "nonsense"}, nil},
		"no volume":        {&csi.ListSnapshotsRequest{SourceVolumeId: "none"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(test.want, list(test.r)); d != "" {
				t.Error(d)
			}
		})
	}
	_, err := c.ListSnapshots(t.Context(), &csi.ListSnapshotsRequest{StartingToken: "2"})
	wantCode(t, err, codes.Aborted)
}
