package node

import "context"

// Guest is what runs in a VM that is a Kubernetes node, whatever it is made of. [Node] is one, a kubelet in a process of its
// own; a container of kind is another, and so is one of the many nodes of a light fleet. Its methods may be called from any
// goroutine, and follow the VM that [Guest.Observe] tells of.
type Guest interface {
	// Observe tells what the VM is like now. It returns at once; the guest follows.
	Observe(Machine)
	// State tells how what stands for the guest is, its PID (0 when it has none) and how often it was restarted after a
	// crash since the VM booted.
	State() (p Process, pid, restarts int)
	// Stop ends it for good. It returns when nothing of it is left, or with ctx's error.
	Stop(ctx context.Context) error
	// Hang stops the guest where it stands until Unhang, a reset or the loss of power; false when it does not run.
	Hang() bool
	Unhang()
	// Die ends the guest as the loss of its host's power does, until the VM has booted again or was seen powered off.
	Die()
	// Crash kills the kubelet, which its machine starts again. Restart ends it properly and starts another.
	Crash(ctx context.Context) error
	Restart(ctx context.Context) error
	// WithholdLinks has no disk that comes appear in the guest any more, or ends that.
	WithholdLinks(withheld bool)
}

// Network is a Guest whose way to everything else can be cut. One that is not a Network is cut off elsewhere.
type Network interface {
	// Cut takes the way away until Mend: connections are reset or, silent, packets vanish. Both again are harmless.
	Cut(silent bool) error
	Mend() error
	IsCut() bool
}
