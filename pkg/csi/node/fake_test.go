package node_test

import (
	"context"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node"
)

const nodeID = "42000000-0000-4000-8000-000000000001"

// scripted is a backend with functions from the test.
type scripted struct {
	stage func(context.Context, node.Stage) error
	// publish receives the arguments.
	publish func(node.Publish) error
	expand  func(node.Expand) (int64, error)
	stats   func() (node.Stats, error)
	err     error
	group   bool
}

func (b *scripted) Stage(ctx context.Context, s node.Stage) error {
	if b.stage != nil {
		return b.stage(ctx, s)
	}
	return b.err
}

func (b *scripted) Publish(_ context.Context, p node.Publish) error {
	if b.publish != nil {
		return b.publish(p)
	}
	return b.err
}

func (b *scripted) Expand(_ context.Context, e node.Expand) (int64, error) {
	if b.expand != nil {
		return b.expand(e)
	}
	return e.Bytes, b.err
}

func (b *scripted) Stats(context.Context, string, string) (node.Stats, error) {
	if b.stats != nil {
		return b.stats()
	}
	return node.Stats{}, b.err
}

func (b *scripted) Unstage(context.Context, string, string) error         { return b.err }
func (b *scripted) PublishShare(context.Context, node.PublishShare) error { return b.err }
func (b *scripted) Unpublish(context.Context, string, string) error       { return b.err }
func (b *scripted) MountsForGroup() bool                                  { return b.group }

func newServer(t *testing.T, o node.Options) *node.Server {
	t.Helper()
	if o.NodeID == "" {
		o.NodeID = nodeID
	}
	s, err := node.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mount(fsType string) *csi.VolumeCapability {
	return &csi.VolumeCapability{
		AccessMode: &csi.VolumeCapability_AccessMode{Mode: csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER},
		AccessType: &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{FsType: fsType}},
	}
}

func block() *csi.VolumeCapability {
	return &csi.VolumeCapability{
		AccessMode: &csi.VolumeCapability_AccessMode{Mode: csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER},
		AccessType: &csi.VolumeCapability_Block{Block: &csi.VolumeCapability_BlockVolume{}},
	}
}

func mode(c *csi.VolumeCapability, m csi.VolumeCapability_AccessMode_Mode) *csi.VolumeCapability {
	c.AccessMode.Mode = m
	return c
}

func stage(volume string) *csi.NodeStageVolumeRequest {
	return &csi.NodeStageVolumeRequest{
		VolumeId: volume, StagingTargetPath: "/stage/" + volume, VolumeCapability: mount(""),
		PublishContext: map[string]string{names.DiskUUID: "6000C29f-0000-0000-0000-000000000001"},
	}
}

func publish(volume string) *csi.NodePublishVolumeRequest {
	return &csi.NodePublishVolumeRequest{
		VolumeId: volume, StagingTargetPath: "/stage/" + volume, TargetPath: "/pods/" + volume, VolumeCapability: mount(""),
	}
}

// requireCode fails when err has another code.
func requireCode(t *testing.T, err error, want codes.Code) {
	t.Helper()
	if got := status.Code(err); got != want {
		t.Errorf("%s, want %s: %v", got, want, err)
	}
}
