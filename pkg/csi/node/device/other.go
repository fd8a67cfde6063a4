//go:build !linux

package device

import (
	"fmt"
	"runtime"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// New fails: the backend supports only Linux.
func New(Options) (node.Backend, error) {
	return nil, fmt.Errorf("csi node on block devices: %s: %w", runtime.GOOS, volume.ErrNotSupported)
}
