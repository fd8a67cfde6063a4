package controller_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// The publish context is upstream's, with the UUID in CNS's form or another.
func TestPublish(t *testing.T) {
	_, c := newCluster(t)
	v := create(t, c, request("v", gib, "a"))
	for range 2 {
		answer, err := c.ControllerPublishVolume(t.Context(), publication(v.GetVolumeId(), strings.ToUpper(nodeUS1)))
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"type": "vSphere CNS Block Volume", "diskUUID": "6000c290000000000000000000000001"}
		if d := cmp.Diff(want, answer.GetPublishContext()); d != "" {
			t.Error(d)
		}
	}
	_, err := c.ControllerPublishVolume(t.Context(), publication(v.GetVolumeId(), nodeUS2))
	wantCode(t, err, codes.FailedPrecondition)
	if message := status.Convert(err).Message(); !strings.Contains(message, nodeUS1) {
		t.Errorf("where it is, is not in %q", message)
	}
	_, err = c.ControllerPublishVolume(t.Context(), publication("none", nodeUS2))
	wantCode(t, err, codes.NotFound)
	_, err = c.ControllerPublishVolume(t.Context(), publication(v.GetVolumeId(), "fake-node"))
	wantCode(t, err, codes.NotFound)
}

func detach(id, node string) *csi.ControllerUnpublishVolumeRequest {
	return &csi.ControllerUnpublishVolumeRequest{VolumeId: id, NodeId: node}
}

// A volume that is detached, was never attached, or does not exist counts as detached.
func TestUnpublish(t *testing.T) {
	_, c := newCluster(t)
	v := create(t, c, request("v", gib, "a"))
	publish(t, c, v.GetVolumeId(), nodeUS1)
	for _, r := range []*csi.ControllerUnpublishVolumeRequest{
		detach(v.GetVolumeId(), nodeUS2), // the other node's disk stays
		detach("none", nodeUS1),
		detach(v.GetVolumeId(), "fake-node"),
	} {
		if _, err := c.ControllerUnpublishVolume(t.Context(), r); err != nil {
			t.Error(err)
		}
	}
	_, err := c.DeleteVolume(t.Context(), &csi.DeleteVolumeRequest{VolumeId: v.GetVolumeId()})
	wantCode(t, err, codes.FailedPrecondition)
	for range 2 {
		if _, err := c.ControllerUnpublishVolume(t.Context(), detach(v.GetVolumeId(), nodeUS1)); err != nil {
			t.Error(err)
		}
	}
	publish(t, c, v.GetVolumeId(), nodeUS2)
}

// Without a node id it is detached from all.
func TestUnpublishEverywhere(t *testing.T) {
	_, c := newCluster(t)
	v := create(t, c, request("v", gib, "a"))
	publish(t, c, v.GetVolumeId(), nodeUS1)
	if _, err := c.ControllerUnpublishVolume(t.Context(), detach(v.GetVolumeId(), "")); err != nil {
		t.Error(err)
	}
	publish(t, c, v.GetVolumeId(), nodeUS2)
}

// The store is called for a node that no longer exists, and only a definite answer counts as detached.
func TestUnpublishGone(t *testing.T) {
	fake, c := newCluster(t)
	v := create(t, c, request("v", gib, "a"))
	publish(t, c, v.GetVolumeId(), nodeUS1)
	fake.Fail("Node", volume.ErrUnavailable)
	_, err := c.ControllerUnpublishVolume(t.Context(), detach(v.GetVolumeId(), nodeUS1))
	wantCode(t, err, codes.Unavailable)
	if n := fake.Calls("Detach"); n != 0 {
		t.Errorf("%d detached", n)
	}
	fake.Fail("Node", volume.ErrNodeGone)
	if _, err := c.ControllerUnpublishVolume(t.Context(), detach(v.GetVolumeId(), nodeUS1)); err != nil {
		t.Error(err)
	}
	if n := fake.Calls("Detach"); n != 1 {
		t.Errorf("%d detached", n)
	}
	publish(t, c, v.GetVolumeId(), nodeUS2)
	for _, refusal := range []error{volume.ErrInvalid, volume.ErrNotFound, errors.Join(volume.ErrNotFound, volume.ErrUnavailable)} {
		fake.Fail("Detach", refusal) // the store returns no error for a missing volume
		if _, err := c.ControllerUnpublishVolume(t.Context(), detach(v.GetVolumeId(), nodeUS2)); err == nil {
			t.Errorf("%v: counts as detached", refusal)
		}
	}

	fake.RemoveNode(nodeUS2)
	fake.Fail("Detach", volume.ErrNodeGone)
	if _, err := c.ControllerUnpublishVolume(t.Context(), detach(v.GetVolumeId(), nodeUS2)); err != nil {
		t.Error(err)
	}
	fake.Fail("Detach", errors.New("a surprise"))
	_, err = c.ControllerUnpublishVolume(t.Context(), detach(v.GetVolumeId(), nodeUS2))
	wantCode(t, err, codes.Internal)
}
