package controller_test

import (
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/controller"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume/volumetest"
)

const (
	mib = int64(1) << 20
	gib = int64(1) << 30

	nodeUS1 = "423a0000-0000-4000-8000-000000000001"
	nodeUS2 = "423a0000-0000-4000-8000-000000000002"
	nodeEU  = "423a0000-0000-4000-8000-000000000003"

	zone = "topology.csi.vmware.com/k8s-zone"
)

// in returns the segment of a zone.
func in(name string) volume.Segment { return volume.Segment{zone: name} }

// newCluster returns vCenters us, with zones a and b, and eu, with zone c: a datastore for each zone, and in us one for both.
func newCluster(t *testing.T) (*volumetest.Cluster, *controller.Controller) {
	t.Helper()
	c := volumetest.New(volumetest.Hooks{})
	for _, d := range []volume.Datastore{
		{VCenter: "us", Ref: "datastore-1", Name: "local-a", URL: "ds:///vmfs/volumes/a/", Capacity: 200 * gib, Free: 100 * gib},
		{VCenter: "us", Ref: "datastore-2", Name: "local-b", URL: "ds:///vmfs/volumes/b/", Capacity: 200 * gib, Free: 100 * gib},
		{VCenter: "us", Ref: "datastore-3", Name: "shared", URL: "ds:///vmfs/volumes/shared/", Capacity: 100 * gib, Free: 50 * gib},
		{VCenter: "eu", Ref: "datastore-1", Name: "local-c", URL: "ds:///vmfs/volumes/c/", Capacity: 100 * gib, Free: 100 * gib},
	} {
		c.AddDatastore(d)
	}
	c.AddNode(volume.Node{ID: nodeUS1, Name: "us-1", VCenter: "us", VM: "vm-1"}, in("a"), "datastore-1", "datastore-3")
	c.AddNode(volume.Node{ID: nodeUS2, Name: "us-2", VCenter: "us", VM: "vm-2"}, in("b"), "datastore-2", "datastore-3")
	c.AddNode(volume.Node{ID: nodeEU, Name: "eu-1", VCenter: "eu", VM: "vm-1"}, in("c"), "datastore-1")
	c.AddPolicy("us", "gold", "policy-gold", "datastore-3")
	c.AddPolicy("eu", "gold", "policy-gold-eu", "datastore-1")
	return c, controller.New(controller.Config{Store: c, Nodes: c})
}

// once is a ReadWriteOnce volume with a file system.
func once() *csi.VolumeCapability {
	return capability(csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER)
}

func capability(mode csi.VolumeCapability_AccessMode_Mode) *csi.VolumeCapability {
	return &csi.VolumeCapability{
		AccessMode: &csi.VolumeCapability_AccessMode{Mode: mode},
		AccessType: &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{FsType: "ext4"}},
	}
}

// raw is one without a file system.
func raw() *csi.VolumeCapability {
	c := once()
	c.AccessType = &csi.VolumeCapability_Block{Block: &csi.VolumeCapability_BlockVolume{}}
	return c
}

// request requests a volume in zones, the first one preferred.
func request(name string, bytes int64, zones ...string) *csi.CreateVolumeRequest {
	r := &csi.CreateVolumeRequest{
		Name: name, VolumeCapabilities: []*csi.VolumeCapability{once()}, CapacityRange: &csi.CapacityRange{RequiredBytes: bytes},
	}
	for _, z := range zones {
		t := &csi.Topology{Segments: in(z)}
		if r.AccessibilityRequirements == nil {
			r.AccessibilityRequirements = &csi.TopologyRequirement{Preferred: []*csi.Topology{t}}
		}
		r.AccessibilityRequirements.Requisite = append(r.AccessibilityRequirements.Requisite, t)
	}
	return r
}

// create creates a volume.
func create(t *testing.T, c *controller.Controller, r *csi.CreateVolumeRequest) *csi.Volume {
	t.Helper()
	answer, err := c.CreateVolume(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return answer.GetVolume()
}

// publish attaches a volume to a node.
func publish(t *testing.T, c *controller.Controller, id, node string) {
	t.Helper()
	if _, err := c.ControllerPublishVolume(t.Context(), publication(id, node)); err != nil {
		t.Fatal(err)
	}
}

func publication(id, node string) *csi.ControllerPublishVolumeRequest {
	return &csi.ControllerPublishVolumeRequest{VolumeId: id, NodeId: node, VolumeCapability: once()}
}

// wantCode fails the test when err has another code.
func wantCode(t *testing.T, err error, want codes.Code) {
	t.Helper()
	if got := status.Code(err); got != want {
		t.Errorf("code %s, want %s: %v", got, want, err)
	}
}
