package controller_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// Every error of package volume has its code, wrapped in any way and from any call.
func TestCodes(t *testing.T) {
	for _, test := range []struct {
		err  error
		want codes.Code
		text string // advice in the message
	}{
		{volume.ErrNotFound, codes.NotFound, ""},
		{volume.ErrNodeGone, codes.NotFound, "delete the Node object"},
		{volume.ErrInUse, codes.FailedPrecondition, "node.kubernetes.io/out-of-service"},
		{volume.ErrSnapshots, codes.FailedPrecondition, "delete its snapshots"},
		{volume.ErrNoSlot, codes.ResourceExhausted, "move pods"},
		{volume.ErrNoSpace, codes.Internal, "free space"},
		{volume.ErrNoDatastore, codes.Internal, "StorageClass"},
		{volume.ErrExists, codes.AlreadyExists, "another name"},
		{volume.ErrInvalid, codes.Internal, ""},
		{volume.ErrState, codes.FailedPrecondition, "state of the VM"},
		{volume.ErrPermission, codes.PermissionDenied, "grant"},
		{volume.ErrUnavailable, codes.Unavailable, "until the vCenter answers"},
		{volume.ErrLimit, codes.FailedPrecondition, "delete snapshots"},
		{volume.ErrPending, codes.Aborted, "until it is done"},
		{volume.ErrInTree, codes.Unimplemented, "StorageClass of the CSI driver"},
		{volume.ErrNotSupported, codes.FailedPrecondition, "version of the vCenter"},
		{volume.ErrToken, codes.Aborted, "from the beginning"},
		{context.DeadlineExceeded, codes.DeadlineExceeded, "continues the operation"},
		{context.Canceled, codes.Canceled, ""},
		{errors.New("a surprise"), codes.Internal, ""},
		// Doubt has priority.
		{errors.Join(volume.ErrNotFound, volume.ErrUnavailable), codes.Unavailable, ""},
		{fmt.Errorf("%w: %w", volume.ErrUnavailable, context.DeadlineExceeded), codes.Unavailable, ""},
	} {
		t.Run(test.err.Error(), func(t *testing.T) {
			fake, c := newCluster(t)
			v := create(t, c, request("v", gib, "a"))
			for range 3 {
				fake.Fail("Attach", fmt.Errorf("task-7: %w", test.err))
				fake.Fail("Expand", fmt.Errorf("task-7: %w", test.err))
				fake.Fail("Snapshot", fmt.Errorf("task-7: %w", test.err))
			}
			_, err := c.ControllerPublishVolume(t.Context(), publication(v.GetVolumeId(), nodeUS1))
			wantCode(t, err, test.want)
			for _, text := range []string{v.GetVolumeId(), "us-1", "vm-1", `"us"`, "task-7", test.text} {
				if message := status.Convert(err).Message(); !strings.Contains(message, text) {
					t.Errorf("%q is not in %q", text, message)
				}
			}
			_, err = c.ControllerExpandVolume(t.Context(), &csi.ControllerExpandVolumeRequest{
				VolumeId: v.GetVolumeId(), CapacityRange: &csi.CapacityRange{RequiredBytes: 2 * gib},
			})
			wantCode(t, err, test.want)
			_, err = c.CreateSnapshot(t.Context(), &csi.CreateSnapshotRequest{Name: "s", SourceVolumeId: v.GetVolumeId()})
			wantCode(t, err, test.want)
		})
	}
}

// An incomplete or impossible request is invalid, and causes no call to a vCenter.
func TestInvalid(t *testing.T) {
	_, c := newCluster(t)
	ctx := t.Context()
	for name, call := range map[string]func() error{
		"create, no name": func() error { return second(c.CreateVolume(ctx, request("", gib))) },
		"create, no capability": func() error {
			return second(c.CreateVolume(ctx, &csi.CreateVolumeRequest{Name: "v"}))
		},
		"create, empty capability": func() error {
			return second(c.CreateVolume(ctx, &csi.CreateVolumeRequest{Name: "v", VolumeCapabilities: []*csi.VolumeCapability{nil}}))
		},
		"create, raw and not": func() error {
			return second(c.CreateVolume(ctx, &csi.CreateVolumeRequest{Name: "v", VolumeCapabilities: []*csi.VolumeCapability{raw(), once()}}))
		},
		"create, attributes class": func() error {
			r := request("v", gib)
			r.MutableParameters = map[string]string{"iops": "7"}
			return second(c.CreateVolume(ctx, r))
		},
		"delete":             func() error { return second(c.DeleteVolume(ctx, &csi.DeleteVolumeRequest{})) },
		"publish, no volume": func() error { return second(c.ControllerPublishVolume(ctx, publication("", nodeEU))) },
		"publish, no node":   func() error { return second(c.ControllerPublishVolume(ctx, publication("v", ""))) },
		"unpublish":          func() error { return second(c.ControllerUnpublishVolume(ctx, &csi.ControllerUnpublishVolumeRequest{})) },
		"expand, no volume":  func() error { return second(c.ControllerExpandVolume(ctx, &csi.ControllerExpandVolumeRequest{})) },
		"expand, no size": func() error {
			return second(c.ControllerExpandVolume(ctx, &csi.ControllerExpandVolumeRequest{VolumeId: "v"}))
		},
		"snapshot, no name":   func() error { return second(c.CreateSnapshot(ctx, &csi.CreateSnapshotRequest{SourceVolumeId: "v"})) },
		"snapshot, no volume": func() error { return second(c.CreateSnapshot(ctx, &csi.CreateSnapshotRequest{Name: "s"})) },
		"delete snapshot":     func() error { return second(c.DeleteSnapshot(ctx, &csi.DeleteSnapshotRequest{})) },
		"get":                 func() error { return second(c.ControllerGetVolume(ctx, &csi.ControllerGetVolumeRequest{})) },
		"list, negative":      func() error { return second(c.ListVolumes(ctx, &csi.ListVolumesRequest{MaxEntries: -1})) },
		"validate, no volume": func() error {
			return second(c.ValidateVolumeCapabilities(ctx, &csi.ValidateVolumeCapabilitiesRequest{}))
		},
		"snapshot, parameters": func() error {
			return second(c.CreateSnapshot(ctx, &csi.CreateSnapshotRequest{Name: "s", SourceVolumeId: "v", Parameters: map[string]string{"x": ""}}))
		},
		"publish, no capability": func() error {
			return second(c.ControllerPublishVolume(ctx, &csi.ControllerPublishVolumeRequest{VolumeId: "v", NodeId: nodeEU}))
		},
		"publish, read-only": func() error {
			r := publication("v", nodeEU)
			r.Readonly = true
			return second(c.ControllerPublishVolume(ctx, r))
		},
		"clone": func() error {
			r := request("v", gib)
			r.VolumeContentSource = &csi.VolumeContentSource{Type: &csi.VolumeContentSource_Volume{Volume: &csi.VolumeContentSource_VolumeSource{VolumeId: "w"}}}
			return second(c.CreateVolume(ctx, r))
		},
	} {
		t.Run(name, func(t *testing.T) { wantCode(t, call(), codes.InvalidArgument) })
	}
}

func second[T any](_ T, err error) error { return err }
