package sandbox

import (
	"context"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// theirGuest stands for a VM whose kubelet is not the sandbox's: nothing is known of its process, and nothing done to it.
type theirGuest struct{}

func (theirGuest) Observe(node.Machine)                   {}
func (theirGuest) State() (p node.Process, pid, exit int) { return "", 0, 0 }
func (theirGuest) Stop(context.Context) error             { return nil }
func (theirGuest) Hang() bool                             { return false }
func (theirGuest) Unhang()                                {}
func (theirGuest) Die()                                   {}
func (theirGuest) WithholdLinks(bool)                     {}
func (theirGuest) Crash(context.Context) error            { return errTheirs("a kubelet is killed") }

func (theirGuest) Restart(context.Context) error { return errTheirs("a kubelet is restarted") }

// errTheirs refuses what would be done to nodes that are others'.
func errTheirs(what string) error {
	return &api.Error{
		Code: "unsupported", Message: what + " only where the nodes are the sandbox's: those of this cluster are real ones, which it watches",
		Try: "vsphere-sandbox record, then up with the recording",
	}
}
