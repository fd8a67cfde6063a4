package controller_test

import (
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// A volume that several nodes use is a share: nodes get its export, and no VM gets a disk.
func TestShare(t *testing.T) {
	fake, c := newCluster(t)
	fake.AddDatastore(volume.Datastore{VCenter: "us", Ref: "datastore-9", Name: "vsan", URL: "ds:///vmfs/volumes/vsan:9/", Capacity: 100 * gib, Free: 100 * gib})
	fake.AddNode(volume.Node{ID: "423a0000-0000-4000-8000-000000000009", Name: "us-9", VCenter: "us", VM: "vm-9"}, in("d"), "datastore-9")
	shared := capability(csi.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER)
	r := request("pages", gib, "d")
	r.VolumeCapabilities = []*csi.VolumeCapability{shared}
	v := create(t, c, r)
	if !names.IsFileVolume(v.GetVolumeId()) || v.GetVolumeContext()[names.AttributeType] != names.FileVolume {
		t.Errorf("%v", v)
	}
	for _, node := range []string{nodeUS1, nodeUS2} {
		answer, err := c.ControllerPublishVolume(t.Context(), &csi.ControllerPublishVolumeRequest{VolumeId: v.GetVolumeId(), NodeId: node, VolumeCapability: shared})
		wantCode(t, err, codes.OK)
		if got := answer.GetPublishContext()[names.Export]; got == "" {
			t.Errorf("%v", answer)
		}
		_, err = c.ControllerUnpublishVolume(t.Context(), &csi.ControllerUnpublishVolumeRequest{VolumeId: v.GetVolumeId(), NodeId: node})
		wantCode(t, err, codes.OK)
	}
	if n := fake.Calls("Attach"); n != 0 {
		t.Errorf("%d attachments", n)
	}
	_, err := c.ControllerExpandVolume(t.Context(), &csi.ControllerExpandVolumeRequest{VolumeId: v.GetVolumeId(), CapacityRange: &csi.CapacityRange{RequiredBytes: 2 * gib}})
	wantCode(t, err, codes.FailedPrecondition)

	// A disk is not shared, and a raw device is no share.
	disk := create(t, c, request("disk", gib, "a"))
	_, err = c.ControllerPublishVolume(t.Context(), &csi.ControllerPublishVolumeRequest{VolumeId: disk.GetVolumeId(), NodeId: nodeUS1, VolumeCapability: shared})
	wantCode(t, err, codes.InvalidArgument)
	r = request("raw", gib, "d")
	r.VolumeCapabilities = []*csi.VolumeCapability{raw()}
	r.VolumeCapabilities[0].AccessMode.Mode = csi.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER
	_, err = c.CreateVolume(t.Context(), r)
	wantCode(t, err, codes.InvalidArgument)
}
