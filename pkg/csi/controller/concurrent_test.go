package controller_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
)

// The second of two identical concurrent calls gets Aborted; no other call waits for the first.
func TestSameCallTwice(t *testing.T) {
	for _, test := range []struct {
		method string
		call   func(context.Context, csi.ControllerServer, string) error
		other  func(context.Context, csi.ControllerServer, string) error
	}{
		{
			"Create",
			func(ctx context.Context, c csi.ControllerServer, _ string) error {
				return second(c.CreateVolume(ctx, request("w", gib, "a")))
			},
			nil,
		},
		{
			"Delete",
			func(ctx context.Context, c csi.ControllerServer, id string) error {
				return second(c.DeleteVolume(ctx, &csi.DeleteVolumeRequest{VolumeId: id}))
			},
			nil,
		},
		{
			"Attach",
			func(ctx context.Context, c csi.ControllerServer, id string) error {
				return second(c.ControllerPublishVolume(ctx, publication(id, nodeUS1)))
			},
			func(ctx context.Context, c csi.ControllerServer, id string) error {
				return second(c.ControllerUnpublishVolume(ctx, detach(id, nodeUS1)))
			},
		},
		{
			"Expand",
			func(ctx context.Context, c csi.ControllerServer, id string) error {
				return second(c.ControllerExpandVolume(ctx, expansion(id, 2*gib)))
			},
			nil,
		},
		{
			"Snapshot",
			func(ctx context.Context, c csi.ControllerServer, id string) error {
				return second(c.CreateSnapshot(ctx, &csi.CreateSnapshotRequest{Name: "s", SourceVolumeId: id}))
			},
			nil,
		},
		{
			"DeleteSnapshot",
			func(ctx context.Context, c csi.ControllerServer, id string) error {
				return second(c.DeleteSnapshot(ctx, &csi.DeleteSnapshotRequest{SnapshotId: id + "+s"}))
			},
			nil,
		},
	} {
		t.Run(test.method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake, c := newCluster(t)
				id := create(t, c, request("v", gib, "a")).GetVolumeId()
				other := create(t, c, request("u", gib, "a")).GetVolumeId()
				release := fake.Hold(test.method)
				first := make(chan error)
				go func() { first <- test.call(t.Context(), c, id) }()
				synctest.Wait()
				wantCode(t, test.call(t.Context(), c, id), codes.Aborted)
				if test.other != nil {
					wantCode(t, test.other(t.Context(), c, id), codes.Aborted)
				}
				if err := second(c.ControllerUnpublishVolume(t.Context(), detach(other, nodeUS2))); err != nil {
					t.Error(err)
				}
				release()
				if err := <-first; err != nil {
					t.Error(err)
				}
				if err := test.call(t.Context(), c, id); err != nil {
					t.Errorf("afterwards: %v", err)
				}
			})
		})
	}
}

// A call whose context ends does not block the next one.
func TestGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake, c := newCluster(t)
		id := create(t, c, request("v", gib, "a")).GetVolumeId()
		release := fake.Hold("Attach")
		ctx, cancel := context.WithCancel(t.Context())
		first := make(chan error)
		go func() { first <- second(c.ControllerPublishVolume(ctx, publication(id, nodeUS1))) }()
		synctest.Wait()
		cancel()
		wantCode(t, <-first, codes.Canceled)
		release()
		publish(t, c, id, nodeUS1)
	})
}
