package node_test

import (
	"strings"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node"
)

func TestRefused(t *testing.T) {
	s := newServer(t, node.Options{Backend: &scripted{}})
	ctx := t.Context()
	for name, edit := range map[string]func(*csi.NodeStageVolumeRequest){
		"no volume":      func(r *csi.NodeStageVolumeRequest) { r.VolumeId = "" },
		"long volume":    func(r *csi.NodeStageVolumeRequest) { r.VolumeId = strings.Repeat("x", 129) },
		"no path":        func(r *csi.NodeStageVolumeRequest) { r.StagingTargetPath = "" },
		"relative path":  func(r *csi.NodeStageVolumeRequest) { r.StagingTargetPath = "stage" },
		"root":           func(r *csi.NodeStageVolumeRequest) { r.StagingTargetPath = "/" },
		"no capability":  func(r *csi.NodeStageVolumeRequest) { r.VolumeCapability = nil },
		"no access type": func(r *csi.NodeStageVolumeRequest) { r.VolumeCapability.AccessType = nil },
		"no access mode": func(r *csi.NodeStageVolumeRequest) { r.VolumeCapability.AccessMode = nil },
		"several nodes": func(r *csi.NodeStageVolumeRequest) {
			mode(r.VolumeCapability, csi.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER)
		},
		"several readers": func(r *csi.NodeStageVolumeRequest) {
			mode(r.VolumeCapability, csi.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY)
		},
		"file system": func(r *csi.NodeStageVolumeRequest) { r.VolumeCapability = mount("ntfs") },
	} {
		t.Run("stage: "+name, func(t *testing.T) {
			r := stage("v")
			edit(r)
			_, err := s.NodeStageVolume(ctx, r)
			requireCode(t, err, codes.InvalidArgument)
		})
	}
	for name, c := range map[string]struct {
		edit func(*csi.NodePublishVolumeRequest)
		want codes.Code
	}{
		"no volume":     {func(r *csi.NodePublishVolumeRequest) { r.VolumeId = "" }, codes.InvalidArgument},
		"no path":       {func(r *csi.NodePublishVolumeRequest) { r.TargetPath = "" }, codes.InvalidArgument},
		"no capability": {func(r *csi.NodePublishVolumeRequest) { r.VolumeCapability = nil }, codes.InvalidArgument},
		"no staging":    {func(r *csi.NodePublishVolumeRequest) { r.StagingTargetPath = "" }, codes.FailedPrecondition},
	} {
		t.Run("publish: "+name, func(t *testing.T) {
			r := publish("v")
			c.edit(r)
			_, err := s.NodePublishVolume(ctx, r)
			requireCode(t, err, c.want)
		})
	}
	size := func(required, limit int64) *csi.CapacityRange {
		return &csi.CapacityRange{RequiredBytes: required, LimitBytes: limit}
	}
	for name, c := range map[string]struct {
		r    *csi.NodeExpandVolumeRequest
		want codes.Code
	}{
		"no volume":      {&csi.NodeExpandVolumeRequest{VolumePath: "/p"}, codes.InvalidArgument},
		"no path":        {&csi.NodeExpandVolumeRequest{VolumeId: "v"}, codes.InvalidArgument},
		"negative":       {&csi.NodeExpandVolumeRequest{VolumeId: "v", VolumePath: "/p", CapacityRange: size(-1, 0)}, codes.InvalidArgument},
		"limit below":    {&csi.NodeExpandVolumeRequest{VolumeId: "v", VolumePath: "/p", CapacityRange: size(2, 1)}, codes.OutOfRange},
		"of what it has": {&csi.NodeExpandVolumeRequest{VolumeId: "v", VolumePath: "/p"}, codes.OK},
		"relative path":  {&csi.NodeExpandVolumeRequest{VolumeId: "v", VolumePath: "p"}, codes.OK}, // found to be nowhere
	} {
		t.Run("expand: "+name, func(t *testing.T) {
			_, err := s.NodeExpandVolume(ctx, c.r)
			requireCode(t, err, c.want)
		})
	}
	_, err := s.NodeGetVolumeStats(ctx, &csi.NodeGetVolumeStatsRequest{VolumeId: "v"})
	requireCode(t, err, codes.InvalidArgument)
	_, err = s.NodeGetVolumeStats(ctx, &csi.NodeGetVolumeStatsRequest{VolumePath: "/p"})
	requireCode(t, err, codes.InvalidArgument)
	_, err = s.NodeUnpublishVolume(ctx, &csi.NodeUnpublishVolumeRequest{VolumeId: "v"})
	requireCode(t, err, codes.InvalidArgument)
	_, err = s.NodeUnstageVolume(ctx, &csi.NodeUnstageVolumeRequest{StagingTargetPath: "/p"})
	requireCode(t, err, codes.InvalidArgument)
}

// The backend gets the arguments from kubelet.
func TestAsked(t *testing.T) {
	var got node.Publish
	s := newServer(t, node.Options{Backend: &scripted{publish: func(p node.Publish) error { got = p; return nil }}})
	for name, c := range map[string]struct {
		edit func(*csi.NodePublishVolumeRequest)
		want func(*node.Publish)
	}{
		"plain":     {func(*csi.NodePublishVolumeRequest) {}, func(*node.Publish) {}},
		"read-only": {func(r *csi.NodePublishVolumeRequest) { r.Readonly = true }, func(p *node.Publish) { p.ReadOnly = true }},
		"reader": {
			func(r *csi.NodePublishVolumeRequest) {
				mode(r.VolumeCapability, csi.VolumeCapability_AccessMode_SINGLE_NODE_READER_ONLY)
			},
			func(p *node.Publish) { p.ReadOnly = true },
		},
		"alone": {
			func(r *csi.NodePublishVolumeRequest) {
				mode(r.VolumeCapability, csi.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER)
			},
			func(p *node.Publish) { p.Exclusive = true },
		},
		"xfs":   {func(r *csi.NodePublishVolumeRequest) { r.VolumeCapability = mount("XFS") }, func(p *node.Publish) { p.Use.FSType = "xfs" }},
		"block": {func(r *csi.NodePublishVolumeRequest) { r.VolumeCapability = block() }, func(p *node.Publish) { p.Use = node.Use{Block: true} }},
	} {
		t.Run(name, func(t *testing.T) {
			r, want := publish("v"), node.Publish{Volume: "v", Staging: "/stage/v", Path: "/pods/v", Use: node.Use{FSType: "ext4"}}
			r.PublishContext = stage("v").GetPublishContext()
			want.Disk = "6000c29f000000000000000000000001"
			c.edit(r)
			c.want(&want)
			if _, err := s.NodePublishVolume(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestExpandOfTooLittle(t *testing.T) {
	s := newServer(t, node.Options{Backend: &scripted{expand: func(node.Expand) (int64, error) { return 5, nil }}})
	for need, want := range map[int64]codes.Code{5: codes.OK, 6: codes.Unavailable} {
		r, err := s.NodeExpandVolume(t.Context(), &csi.NodeExpandVolumeRequest{
			VolumeId: "v", VolumePath: "/p", CapacityRange: &csi.CapacityRange{RequiredBytes: need},
		})
		requireCode(t, err, want)
		if err == nil && r.GetCapacityBytes() != 5 {
			t.Errorf("%v", r)
		}
	}
}

func TestStatsOfWhat(t *testing.T) {
	for isBlock, want := range map[bool]int{false: 2, true: 1} {
		s := newServer(t, node.Options{Backend: &scripted{stats: func() (node.Stats, error) {
			return node.Stats{Capacity: 10, Used: 4, Available: 6, Inodes: 3, Block: isBlock}, nil
		}}})
		r, err := s.NodeGetVolumeStats(t.Context(), &csi.NodeGetVolumeStatsRequest{VolumeId: "v", VolumePath: "/p"})
		if err != nil || len(r.GetUsage()) != want || r.GetUsage()[0].GetTotal() != 10 {
			t.Errorf("%v %v", r, err)
		}
	}
}

// A refused call that a pod waits for is reported with what identifies the pod; one that succeeds is not.
func TestFailed(t *testing.T) {
	var got []node.Failure
	s := newServer(t, node.Options{Backend: &scripted{}, Failed: func(f node.Failure) { got = append(got, f) }})
	r := stage("v")
	r.VolumeCapability = mount("ntfs")
	_, err := s.NodeStageVolume(t.Context(), r)
	requireCode(t, err, codes.InvalidArgument)
	_, err = s.NodeStageVolume(t.Context(), stage("v"))
	requireCode(t, err, codes.OK)
	want := []node.Failure{{Call: "stage", Volume: "v", Path: r.StagingTargetPath, Message: `file system "ntfs" is not supported: use one of ext4, ext3, xfs`}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
