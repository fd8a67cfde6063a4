package node

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// NodePublishVolume makes a staged volume available at the target path.
func (s *Server) NodePublishVolume(ctx context.Context, r *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	u, alone, err := use(r.GetVolumeCapability())
	for _, e := range []error{checkVolume(r.GetVolumeId()), checkPath("target", r.GetTargetPath()), err} {
		if e != nil {
			return nil, e
		}
	}
	if r.GetStagingTargetPath() == "" { // CSI requires this code
		return nil, status.Error(codes.FailedPrecondition, "no staging target path")
	}
	readOnly := r.GetReadonly() || r.GetVolumeCapability().GetAccessMode().GetMode() == csi.VolumeCapability_AccessMode_SINGLE_NODE_READER_ONLY
	return do(ctx, s, call{what: "publish", volume: r.GetVolumeId()}, func(ctx context.Context) (*csi.NodePublishVolumeResponse, error) {
		return &csi.NodePublishVolumeResponse{}, s.opts.Backend.Publish(ctx, Publish{
			Volume: r.GetVolumeId(), Disk: diskOf(r.GetPublishContext()), Staging: r.GetStagingTargetPath(), Path: r.GetTargetPath(),
			Use: u, ReadOnly: readOnly, Alone: alone,
		})
	})
}

// NodeUnpublishVolume undoes NodePublishVolume and removes the target path.
func (s *Server) NodeUnpublishVolume(ctx context.Context, r *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error) {
	for _, e := range []error{checkVolume(r.GetVolumeId()), checkPath("target", r.GetTargetPath())} {
		if e != nil {
			return nil, e
		}
	}
	return do(ctx, s, call{what: "unpublish", volume: r.GetVolumeId()}, func(ctx context.Context) (*csi.NodeUnpublishVolumeResponse, error) {
		return &csi.NodeUnpublishVolumeResponse{}, s.opts.Backend.Unpublish(ctx, r.GetVolumeId(), r.GetTargetPath())
	})
}

// NodeStageVolume waits for the volume's disk, formats it if it is new, and mounts it at the staging path.
func (s *Server) NodeStageVolume(ctx context.Context, r *csi.NodeStageVolumeRequest) (*csi.NodeStageVolumeResponse, error) {
	u, _, err := use(r.GetVolumeCapability())
	for _, e := range []error{checkVolume(r.GetVolumeId()), checkPath("staging target", r.GetStagingTargetPath()), err} {
		if e != nil {
			return nil, e
		}
	}
	return do(ctx, s, call{what: "stage", volume: r.GetVolumeId()}, func(ctx context.Context) (*csi.NodeStageVolumeResponse, error) {
		return &csi.NodeStageVolumeResponse{}, s.opts.Backend.Stage(ctx, Stage{
			Volume: r.GetVolumeId(), Disk: diskOf(r.GetPublishContext()), Path: r.GetStagingTargetPath(), Use: u,
		})
	})
}

// NodeUnstageVolume undoes NodeStageVolume.
func (s *Server) NodeUnstageVolume(ctx context.Context, r *csi.NodeUnstageVolumeRequest) (*csi.NodeUnstageVolumeResponse, error) {
	for _, e := range []error{checkVolume(r.GetVolumeId()), checkPath("staging target", r.GetStagingTargetPath())} {
		if e != nil {
			return nil, e
		}
	}
	return do(ctx, s, call{what: "unstage", volume: r.GetVolumeId()}, func(ctx context.Context) (*csi.NodeUnstageVolumeResponse, error) {
		return &csi.NodeUnstageVolumeResponse{}, s.opts.Backend.Unstage(ctx, r.GetVolumeId(), r.GetStagingTargetPath())
	})
}

// NodeExpandVolume grows the file system to the size of the disk.
func (s *Server) NodeExpandVolume(ctx context.Context, r *csi.NodeExpandVolumeRequest) (*csi.NodeExpandVolumeResponse, error) {
	if err := checkVolume(r.GetVolumeId()); err != nil {
		return nil, err
	}
	if r.GetVolumePath() == "" {
		return nil, invalid("no volume path")
	}
	need, limit := r.GetCapacityRange().GetRequiredBytes(), r.GetCapacityRange().GetLimitBytes()
	switch {
	case need < 0 || limit < 0:
		return nil, invalid("capacity of %d to %d bytes", need, limit)
	case limit > 0 && limit < need:
		return nil, status.Errorf(codes.OutOfRange, "limit of %d bytes is less than the %d required", limit, need)
	}
	return do(ctx, s, call{what: "expand", volume: r.GetVolumeId()}, func(ctx context.Context) (*csi.NodeExpandVolumeResponse, error) {
		size, err := s.opts.Backend.Expand(ctx, Expand{Volume: r.GetVolumeId(), Path: r.GetVolumePath(), Bytes: need})
		if err == nil && size < need {
			err = fmt.Errorf("disk has %d bytes, not the %d required: %w", size, need, volume.ErrUnavailable)
		}
		return &csi.NodeExpandVolumeResponse{CapacityBytes: size}, err
	})
}

// NodeGetVolumeStats returns the usage of a volume. It does not wait for other operations on the volume.
func (s *Server) NodeGetVolumeStats(ctx context.Context, r *csi.NodeGetVolumeStatsRequest) (*csi.NodeGetVolumeStatsResponse, error) {
	if err := checkVolume(r.GetVolumeId()); err != nil {
		return nil, err
	}
	if r.GetVolumePath() == "" {
		return nil, invalid("no volume path")
	}
	return do(ctx, s, call{what: "stats", volume: r.GetVolumeId(), key: "stats "}, func(ctx context.Context) (*csi.NodeGetVolumeStatsResponse, error) {
		st, err := s.opts.Backend.Stats(ctx, r.GetVolumeId(), r.GetVolumePath())
		if err != nil {
			return nil, err
		}
		usage := []*csi.VolumeUsage{{Unit: csi.VolumeUsage_BYTES, Total: st.Capacity, Used: st.Used, Available: st.Available}}
		if !st.Block {
			usage = append(usage, &csi.VolumeUsage{Unit: csi.VolumeUsage_INODES, Total: st.Inodes, Used: st.InodesUsed, Available: st.InodesFree})
		}
		return &csi.NodeGetVolumeStatsResponse{Usage: usage}, nil
	})
}

func invalid(format string, args ...any) error {
	return status.Errorf(codes.InvalidArgument, format, args...)
}

func checkVolume(id string) error {
	switch {
	case id == "":
		return invalid("no volume id")
	case strings.ContainsRune(id, 0) || len(id) > 128: // CSI's limit
		return invalid("volume id %.40q…: too long, or not text", id)
	}
	return nil
}

func checkPath(what, path string) error {
	switch {
	case path == "":
		return invalid("no %s path", what)
	case !filepath.IsAbs(path) || path == "/" || strings.ContainsRune(path, 0):
		return invalid("%s path %q: not an absolute path of a directory or file", what, path)
	}
	return nil
}

// fileSystems are those of upstream's driver; the first is the default.
func fileSystems() []string { return []string{"ext4", "ext3", "xfs"} }

// use parses a capability. Access modes for several nodes are not supported.
func use(c *csi.VolumeCapability) (u Use, alone bool, err error) {
	if c == nil {
		return u, false, invalid("no volume capability")
	}
	switch mode := c.GetAccessMode().GetMode(); mode {
	case csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER,
		csi.VolumeCapability_AccessMode_SINGLE_NODE_READER_ONLY,
		csi.VolumeCapability_AccessMode_SINGLE_NODE_MULTI_WRITER:
	case csi.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER:
		alone = true
	default:
		return u, false, invalid("access mode %s: a disk is used on one node at a time", mode)
	}
	if c.GetBlock() != nil {
		return Use{Block: true}, alone, nil
	}
	m := c.GetMount()
	if m == nil {
		return u, false, invalid("no access type in the volume capability")
	}
	u = Use{FSType: strings.ToLower(m.GetFsType()), Flags: m.GetMountFlags()}
	if u.FSType == "" {
		u.FSType = fileSystems()[0]
	}
	if !slices.Contains(fileSystems(), u.FSType) {
		return u, false, invalid("file system %q is not supported: use one of %s", u.FSType, strings.Join(fileSystems(), ", "))
	}
	return u, alone, nil
}

// diskOf returns the compact UUID of the disk in a publish context, or "".
func diskOf(publishContext map[string]string) string {
	return names.Compact(publishContext[names.DiskUUID])
}
