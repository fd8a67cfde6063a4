package node

import (
	"context"
	"strings"
)

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

// OS is what a guest says of itself in the node's info: an OS image and a kernel for the guest ID with which the VM is
// configured. A guest that Kubernetes does not run on is reported as a generic Linux.
func OS(guestID string) (image, kernel string) {
	for _, os := range []struct{ prefix, image, kernel string }{
		{"ubuntu", "Ubuntu 24.04.3 LTS", "6.8.0-87-generic"},
		{"debian", "Debian GNU/Linux 12 (bookworm)", "6.1.0-41-amd64"},
		{"vmwarePhoton", "VMware Photon OS/Linux", "6.1.158-1.ph5"},
		{"rhel9", "Red Hat Enterprise Linux 9.6 (Plow)", "5.14.0-570.12.1.el9_6.x86_64"},
		{"rhel", "Red Hat Enterprise Linux 8.10 (Ootpa)", "4.18.0-553.el8_10.x86_64"},
		{"centos", "CentOS Stream 9", "5.14.0-598.el9.x86_64"},
		{"rockylinux", "Rocky Linux 9.6 (Blue Onyx)", "5.14.0-570.12.1.el9_6.x86_64"},
		{"sles", "SUSE Linux Enterprise Server 15 SP7", "6.4.0-150700.53.19-default"},
		{"coreos", "Flatcar Container Linux by Kinvolk 4230.2.3 (Oklo)", "6.6.107-flatcar"},
	} {
		if strings.HasPrefix(guestID, os.prefix) {
			return os.image, os.kernel
		}
	}
	return "Linux", "6.12.0"
}
