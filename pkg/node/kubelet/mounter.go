package kubelet

import (
	"os"
	"path/filepath"

	"k8s.io/mount-utils"
)

// mounter is kubemark's stand-in, which mounts nothing, but sees what the hollow CSI node service has published: links that
// lead through the VM's by-id folder. Without that a kubelet takes such a volume for an empty directory and tries to remove
// it as one.
type mounter struct {
	*mount.FakeMounter
	byID string
}

// IsLikelyNotMountPoint is as in mount.Interface. A link is a mount point also when its disk is gone.
func (m mounter) IsLikelyNotMountPoint(path string) (bool, error) {
	if to, err := os.Readlink(path); err == nil && filepath.Dir(filepath.Dir(to)) == filepath.Clean(m.byID) {
		return false, nil
	}
	return m.FakeMounter.IsLikelyNotMountPoint(path)
}

// IsMountPoint is as in mount.Interface.
func (m mounter) IsMountPoint(path string) (bool, error) {
	not, err := m.IsLikelyNotMountPoint(path)
	return err == nil && !not, err
}
