package kind

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// Error is what stands in the way of a cluster, in words for people. Its codes are those of package runtime and these.
type Error = runtime.Error

// Further codes of an [Error].
const (
	ConfigInvalid = "kind-config-invalid" // the user's kind configuration cannot be merged
	NameTaken     = "cluster-name-taken"  // by a cluster that is not this sandbox's
	ImageUnfit    = "image-unfit"         // no node image, or one of another Kubernetes
	RuntimeRemote = "runtime-remote"      // its daemon is on another machine
	CreateFailed  = "cluster-failed"      // kind or kubeadm gave up; the message has their reasons
	NodeGone      = "node-gone"           // somebody has removed its container
	Unreachable   = "host-unreachable"    // the nodes have no way to programs of this machine
	PortTaken     = "port-in-use"
	NoLoopDevices = "no-loop-devices" // files cannot be disks here
)

func wrong(code, try string, err error, message string) *Error {
	return &Error{Code: code, Message: message, Try: try, Err: err}
}

func isNotEmpty(err error) bool {
	var p *fs.PathError
	return errors.As(err, &p) && (errors.Is(p.Err, syscall.ENOTEMPTY) || errors.Is(p.Err, syscall.EEXIST))
}
