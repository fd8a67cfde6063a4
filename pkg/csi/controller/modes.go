package controller

import (
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
)

// checkCapabilities refuses what a block volume on one VM cannot be.
func checkCapabilities(all []*csi.VolumeCapability) error {
	if len(all) == 0 {
		return invalid("volume capability: missing")
	}
	block, mount := false, false
	for _, c := range all {
		if err := checkCapability(c); err != nil {
			return err
		}
		block, mount = block || c.GetBlock() != nil, mount || c.GetMount() != nil
	}
	if block && mount {
		return invalid("volume capability: raw and with a file system at once")
	}
	return nil
}

func checkCapability(c *csi.VolumeCapability) error {
	if c == nil {
		return invalid("volume capability: missing")
	}
	switch mode := c.GetAccessMode().GetMode(); mode {
	case csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER,
		csi.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER,
		csi.VolumeCapability_AccessMode_SINGLE_NODE_MULTI_WRITER:
	case csi.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER,
		csi.VolumeCapability_AccessMode_MULTI_NODE_SINGLE_WRITER,
		csi.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY:
		return invalid("volume capability: access mode %s: several nodes at once need a file volume, and this driver does not support "+
			"file volumes: use ReadWriteOnce or ReadWriteOncePod", mode)
	default:
		return invalid("volume capability: access mode %s: not supported: use ReadWriteOnce or ReadWriteOncePod", mode)
	}
	switch {
	case c.GetBlock() != nil:
		return nil
	case c.GetMount() == nil:
		return invalid("volume capability: neither raw nor with a file system")
	}
	return checkFileSystem(c.GetMount().GetFsType())
}

// checkFileSystem refuses network file systems, by which upstream knows file volumes. What else the nodes can make is
// theirs to say.
func checkFileSystem(name string) error {
	if lower := strings.ToLower(name); lower == "nfs" || lower == "nfs4" {
		return invalid("file system %s: this driver does not support file volumes: use ext4 or xfs", name)
	}
	return nil
}
