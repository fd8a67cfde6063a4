package device

import (
	"cmp"
	"log/slog"

	"k8s.io/mount-utils"
	"k8s.io/utils/exec"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/byid"
)

// backend implements node.Backend. It has no state.
type backend struct {
	opts  Options
	mount *mount.SafeFormatAndMount
}

var _ node.Backend = (*backend)(nil)

// New returns the backend, which needs the privilege to mount.
func New(o Options) (node.Backend, error) {
	o.ByIDDir = cmp.Or(o.ByIDDir, byid.Folder)
	o.Timeout = cmp.Or(o.Timeout, byid.Timeout)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &backend{opts: o, mount: mount.NewSafeFormatAndMount(mount.New(""), exec.New())}, nil
}

// MountsForGroup returns false: kubelet changes the group of files according to the pod and the CSIDriver object.
func (b *backend) MountsForGroup() bool { return false }
