package controller_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/controller"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume/volumetest"
)

// The next place is tried after errors that it may avoid, and never if a volume may have been created.
func TestNextPlace(t *testing.T) {
	for _, test := range []struct {
		err  error
		next bool
		code codes.Code
	}{
		{volume.ErrNoSpace, true, codes.OK},
		{volume.ErrNoDatastore, true, codes.OK},
		{volume.ErrState, true, codes.OK},
		{volume.ErrPermission, true, codes.OK},
		{volume.ErrUnavailable, false, codes.Unavailable},
		{volume.ErrPending, false, codes.Aborted},
		{volume.ErrExists, false, codes.AlreadyExists},
		{context.DeadlineExceeded, false, codes.DeadlineExceeded},
		{fmt.Errorf("%w: %w", volume.ErrState, context.Canceled), false, codes.Canceled},
		{errors.New("a surprise"), false, codes.Internal},
	} {
		t.Run(test.err.Error(), func(t *testing.T) {
			fake, c := newCluster(t)
			fake.Fail("Create", test.err)
			answer, err := c.CreateVolume(t.Context(), request("v", gib, "a", "b"))
			wantCode(t, err, test.code)
			if test.next {
				if got := answer.GetVolume().GetAccessibleTopology()[0].GetSegments()[zone]; got != "b" {
					t.Errorf("in zone %q", got)
				}
			} else if n := fake.Calls("Create"); n != 1 {
				t.Errorf("%d places tried", n)
			}
		})
	}
}

// If no place works, the error has the reason for each.
func TestNoPlace(t *testing.T) {
	fake, c := newCluster(t)
	fake.Fail("Create", volume.ErrState)
	fake.Fail("Create", volume.ErrNoSpace)
	_, err := c.CreateVolume(t.Context(), request("v", gib, "a", "b"))
	wantCode(t, err, codes.Internal)
	for _, text := range []string{"local-a", "local-b", "no space", "its state does not allow it", "free space on the datastores"} {
		if message := status.Convert(err).Message(); !strings.Contains(message, text) {
			t.Errorf("%q is not in %q", text, message)
		}
	}
	// Another node may be chosen if only one segment is required.
	_, err = c.CreateVolume(t.Context(), request("v", gib, "nowhere"))
	wantCode(t, err, codes.ResourceExhausted)
}

// If the topology of a volume is not available, the caller retries, and gets the same volume.
func TestTopologyLater(t *testing.T) {
	fake, c := newCluster(t)
	fake.Fail("SegmentsOf", volume.ErrUnavailable)
	_, err := c.CreateVolume(t.Context(), request("v", gib, "a"))
	wantCode(t, err, codes.Unavailable)
	create(t, c, request("v", gib, "a"))
	if all, _, _ := fake.Volumes(t.Context()); len(all) != 1 {
		t.Errorf("%d volumes", len(all))
	}
}

// Missing data about an existing volume are not a final error: the volume would be orphaned.
func TestTopologyDoubtful(t *testing.T) {
	fake, c := newCluster(t)
	for range 2 {
		fake.Fail("SegmentsOf", fmt.Errorf("no such datastore: %w", volume.ErrNotFound))
		_, err := c.CreateVolume(t.Context(), request("v", gib, "a"))
		wantCode(t, err, codes.Unavailable)
	}
	_, err := controller.New(controller.Config{Store: fake, Nodes: moved{fake}}).CreateVolume(t.Context(), request("v", gib, "a"))
	wantCode(t, err, codes.Unavailable)
	if all, _, _ := fake.Volumes(t.Context()); len(all) != 1 {
		t.Errorf("%d volumes", len(all))
	}
}

// moved are nodes that no longer reach what they reached when the place was selected. A volume without a topology would count as
// reachable from all nodes.
type moved struct{ *volumetest.Cluster }

func (moved) SegmentsOf(context.Context, string, string) ([]volume.Segment, error) {
	return nil, nil
}

// The volume that used the last space is found again.
func TestNoPlaceAnyMore(t *testing.T) {
	fake, c := newCluster(t)
	first := create(t, c, request("v", 100*gib, "a"))
	fake.Fail("Places", volume.ErrNoDatastore)
	if again := create(t, c, request("v", 100*gib, "a")); again.GetVolumeId() != first.GetVolumeId() {
		t.Errorf("volume %s", again.GetVolumeId())
	}
	fake.Fail("Places", volume.ErrNoDatastore)
	_, err := c.CreateVolume(t.Context(), request("w", 100*gib, "a"))
	wantCode(t, err, codes.ResourceExhausted)
}
