package kind

import (
	"errors"
	"io/fs"
	"syscall"
)

// Codes of a [coded.Error], beside those of package runtime.
const (
	ConfigInvalid = "kind-config-invalid" // the user's kind configuration cannot be merged
	NameTaken     = "cluster-name-taken"  // by a cluster of another owner
	ImageUnfit    = "image-unfit"         // no node image, or one of another Kubernetes
	RuntimeRemote = "runtime-remote"      // its daemon is on another host
	CreateFailed  = "cluster-failed"      // kind or kubeadm gave up; the message has their reasons
	NodeGone      = "node-gone"           // its container was removed
	Unreachable   = "host-unreachable"    // the nodes cannot connect to programs of this host
	PortTaken     = "port-in-use"
	NoLoopDevices = "no-loop-devices" // files cannot be disks here
)

func isNotEmpty(err error) bool {
	var p *fs.PathError
	return errors.As(err, &p) && (errors.Is(p.Err, syscall.ENOTEMPTY) || errors.Is(p.Err, syscall.EEXIST))
}
