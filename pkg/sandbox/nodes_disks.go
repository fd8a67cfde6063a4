package sandbox

import (
	"path/filepath"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
)

// byID is the folder in a node's directory that stands for the guest's /dev/disk/by-id.
func byID(dir string) string { return filepath.Join(dir, "by-id") }

// links say how the volumes of a VM are shown to its guest; nil when there are no volumes.
func (s *Sandbox) links(m *machine) *node.Links {
	if !s.opts.CSI.Enabled {
		return nil
	}
	vc := s.vcenters.Find(m.vm.VCenter)
	return &node.Links{
		Dir:  byID(s.nodes.dir(m)),
		Disk: vc.VolumeDir,
		Failed: func(err error) {
			s.opts.Logger.Error("links to disks", "vm", m.vm.Name, "err", err)
		},
	}
}
