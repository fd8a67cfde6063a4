package machine

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/netip"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
)

// Containers is what a Machine asks of a container runtime; [runtime.Runtime] is one.
type Containers interface {
	Inspect(ctx context.Context, container string) (runtime.Container, error)
	Start(ctx context.Context, container string) error
	Stop(ctx context.Context, container string, grace time.Duration) error
	Kill(ctx context.Context, container string) error
	Pause(ctx context.Context, container string) error
	Unpause(ctx context.Context, container string) error
	Exec(ctx context.Context, container string, stdin io.Reader, stdout, stderr io.Writer, argv ...string) error
}

var _ Containers = (*runtime.Runtime)(nil)

// Disks show volumes to guests: those of package disks.
type Disks interface {
	// Plug has the guest see the disk whose /dev/disk/by-id that folder of this machine is, Unplug takes it away. Both again
	// are harmless.
	Plug(ctx context.Context, folder string, d node.Disk) error
	Unplug(ctx context.Context, folder string, d node.Disk) error
	// Resize has it see how large the disk is by now, Flush has all that was written be in the volume.
	Resize(ctx context.Context, d node.Disk) error
	Flush(ctx context.Context, d node.Disk) error
	// Prepare is a shell script that a guest runs at each of its starts; empty: none. Check is a command that succeeds in a guest
	// that sees the disk.
	Prepare() string
	Check(d node.Disk) []string
}

// Options make a [Machine]. Container, Runtime and Notify are needed.
type Options struct {
	// Name is the node's; the component is called node/NAME. Empty: the container's.
	Name string
	// Container is the container's name. It need not be there.
	Container string
	Runtime   Containers
	// Watch rings when something has happened to the container; nil: the Machine looks every now and then.
	Watch *Watch
	// Network is the one that the container's address is looked for in; empty for kind's.
	Network string
	// Disks show volumes to the guest; nil: there are none. ByID is the folder of this machine that the container has as its
	// /dev/disk/by-id.
	Disks Disks
	ByID  string
	// Identify is told before each start what the VM is, so that what the guest finds as its machine's identity can be said. It is
	// called as Notify is. Nil: nobody is told.
	Identify func(node.Machine) error
	// Notify is told of every change of the container, as of a process: Started with the PID that the runtime tells, Stopped by
	// its VM's life, Exited by anything else, with the reason. It is called from one goroutine at a time and must not call the
	// Machine.
	Notify func(child.Change)
	// Notice is told of what could not be done and is tried again, and of what somebody else has done to the container; the same
	// once. It is called as Notify is. Nil: nobody is told.
	Notice func(error)
	// Addressed is told the container's address after each start. It is called as Notify is. Nil: nobody is told.
	Addressed func(netip.Addr)
	// Keep tells, when the Machine is stopped, whether its container is left as it is, with its disks. Nil: it is not.
	Keep   func() bool
	Logger *slog.Logger // nil: none
}

// kindNetwork is what kind calls its network.
const kindNetwork = "kind"

func (o *Options) complete() error {
	switch {
	case o.Container == "":
		return errors.New("machine: no container is named")
	case o.Runtime == nil:
		return errors.New("machine: no container runtime")
	case o.Notify == nil:
		return errors.New("machine: nobody to notify")
	case o.Disks != nil && o.ByID == "":
		return errors.New("machine: disks, and no folder for them")
	}
	if o.Name == "" {
		o.Name = o.Container
	}
	if o.Network == "" {
		o.Network = kindNetwork
	}
	if o.Notice == nil {
		o.Notice = func(error) {}
	}
	if o.Identify == nil {
		o.Identify = func(node.Machine) error { return nil }
	}
	if o.Keep == nil {
		o.Keep = func() bool { return false }
	}
	if o.Addressed == nil {
		o.Addressed = func(netip.Addr) {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}
