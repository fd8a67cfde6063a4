package controller_test

import (
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
)

func expansion(id string, bytes int64) *csi.ControllerExpandVolumeRequest {
	return &csi.ControllerExpandVolumeRequest{VolumeId: id, CapacityRange: &csi.CapacityRange{RequiredBytes: bytes}}
}

func TestExpand(t *testing.T) {
	_, c := newCluster(t)
	id := create(t, c, request("v", gib, "a")).GetVolumeId()
	block, mount := expansion(id, 5*gib), expansion(id, 5*gib)
	block.VolumeCapability, mount.VolumeCapability = raw(), once()
	for _, test := range []struct {
		name  string
		r     *csi.ControllerExpandVolumeRequest
		bytes int64
		node  bool
	}{
		{"rounded up", expansion(id, 2*gib+1), 2*gib + mib, true},
		{"never shrunk", expansion(id, gib), 2*gib + mib, true},
		{"raw", block, 5 * gib, false},
		{"with a file system", mount, 5 * gib, true},
	} {
		answer, err := c.ControllerExpandVolume(t.Context(), test.r)
		if err != nil {
			t.Fatal(test.name, err)
		}
		if answer.GetCapacityBytes() != test.bytes || answer.GetNodeExpansionRequired() != test.node {
			t.Errorf("%s: %v", test.name, answer)
		}
	}
	limited := expansion(id, gib)
	limited.CapacityRange.LimitBytes = 2 * gib
	_, err := c.ControllerExpandVolume(t.Context(), limited)
	wantCode(t, err, codes.OutOfRange)
	_, err = c.ControllerExpandVolume(t.Context(), expansion("none", gib))
	wantCode(t, err, codes.NotFound)

	if _, err := c.CreateSnapshot(t.Context(), &csi.CreateSnapshotRequest{Name: "s", SourceVolumeId: id}); err != nil {
		t.Fatal(err)
	}
	_, err = c.ControllerExpandVolume(t.Context(), expansion(id, 6*gib))
	wantCode(t, err, codes.FailedPrecondition)
}
