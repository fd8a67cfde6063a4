package e2e

import (
	"testing"
	"time"
)

// At the pace of a real cluster, where the cloud controller manager looks at nodes every five seconds, a VM that is off and
// one that is destroyed have their consequences as soon as their nodes are not ready.
func TestReactionIsQuick(t *testing.T) {
	t.Parallel()
	long(t)
	s := newHome(t).up("quick", "single", "--speed", "1")
	const grace, sooner = 90 * time.Second, 4 * time.Second
	const off, gone = "worker-1", "worker-2"
	begin := s.Last()
	s.vm("power-off", off)
	s.vm("destroy", gone, "--yes")
	s.awaitEvent(begin, grace, "node.unknown", about(off))
	s.Await("shutdown taint", sooner, func() bool { return tainted(s.Node(off), taintShutdown) })
	s.awaitEvent(begin, grace, "node.unknown", about(gone))
	s.Await("Node object gone", sooner, func() bool { return !s.Node(gone).Registered })
	checkChain(s, off)
	deleted := s.awaitEvent(begin, sooner, "node.deleted", about(gone))
	s.checkCauses(deleted, "node.deleted", "vm.destroyed", "command.destroy")
	vmGone := s.awaitEvent(begin, sooner, "ccm.vm-gone", about(gone))
	s.checkCauses(vmGone, "ccm.vm-gone", "vm.destroyed", "command.destroy")
	if n := s.Node(off); !n.Registered {
		t.Errorf("the node of the VM that is off: %+v", n)
	}
}
