package node

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
)

func invalid(format string, args ...any) error {
	return status.Errorf(codes.InvalidArgument, format, args...)
}

func checkVolume(id string) error {
	switch {
	case id == "":
		return invalid("no volume id")
	case strings.ContainsRune(id, 0) || len(id) > 128: // CSI's own limit
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

// fileSystems are those that upstream's driver knows.
func fileSystems() []string { return []string{"ext4", "ext3", "xfs"} }

// use reads a capability. A disk is on one node at a time, so no mode for several will do.
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
		return u, false, invalid("file system %q: is none of %s", u.FSType, strings.Join(fileSystems(), ", "))
	}
	return u, alone, nil
}

// diskOf is the disk's UUID in a publish context, compact; empty when there is none.
func diskOf(publishContext map[string]string) string {
	return names.Compact(publishContext[names.DiskUUID])
}
