package machine

import (
	"context"
	"errors"
	"fmt"
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

// prepare does in a container that has been started what a VM's hardware does: it has device files for the disks to come.
func (b *box) prepare(ctx context.Context) error {
	if b.ready == b.is.PID {
		return nil
	}
	if d := b.m.opts.Disks; d != nil {
		if script := d.Prepare(); script != "" {
			if err := b.guest(ctx, script); err != nil {
				return fmt.Errorf("its disks' devices: %w", err)
			}
		}
	}
	b.ready = b.is.PID
	b.m.plugs.newGuest()
	return nil
}

// cut is what becomes of the packets between the container and its network.
type cut int

const (
	whole  cut = iota
	loud       // connections are reset, new ones refused
	silent     // packets vanish
)

// Cut takes the container's way to everything outside of it, the pods' in it too, until [Machine.Mend]: connections are reset or,
// silent, packets vanish. The container keeps its address, routes and names, so that nothing has to be given back. It returns at
// once for a container that does not run, and is in force from its next start on; so it is for one that stands still.
func (m *Machine) Cut(silently bool) error {
	if silently {
		return m.cutAs(silent)
	}
	return m.cutAs(loud)
}

// Mend gives the way back.
func (m *Machine) Mend() error { return m.cutAs(whole) }

// IsCut tells whether the way is taken.
func (m *Machine) IsCut() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cut != whole
}

func (m *Machine) cutAs(c cut) error {
	m.mu.Lock()
	m.cut = c
	m.mu.Unlock()
	return m.ask(context.Background(), func(ctx context.Context, b *box) error {
		if !b.runs() || b.paused() {
			return nil
		}
		return b.network(ctx, c)
	})
}

// network has the container's packet filter do what is wanted.
func (b *box) network(ctx context.Context, want cut) error {
	if b.netOf != b.is.PID { // it is another, whose filter has nothing of ours
		b.netOf, b.net = b.is.PID, whole
	}
	if b.net == want {
		return nil
	}
	if err := b.guest(ctx, filter[want]); err != nil {
		return fmt.Errorf("its network cannot be cut, or mended: %w", err)
	}
	b.net = want
	return nil
}

// filter are the scripts that bring a container's packet filter in line. Rules are in chains of their own, for what comes and
// goes by the container's interfaces; what its pods have among themselves goes by others. Packets vanish in the mangle table,
// through which all go and where nobody else has rules; they can be refused in the filter table only.
var filter = map[cut]string{
	whole: eachFamily(undo),
	loud: eachFamily(undo + `
$t -w -N $c
$t -w -A $c -o eth+ -p tcp --tcp-flags RST RST -j ACCEPT
$t -w -A $c -o eth+ -p $icmp -j ACCEPT
$t -w -A $c -i eth+ -p tcp -j REJECT --reject-with tcp-reset
$t -w -A $c -o eth+ -p tcp -j REJECT --reject-with tcp-reset
$t -w -A $c -i eth+ -j REJECT
$t -w -A $c -o eth+ -j REJECT
for h in INPUT FORWARD OUTPUT; do $t -w -I $h -j $c; done`),
	silent: eachFamily(undo + `
$t -w -t mangle -N $c
$t -w -t mangle -A $c -i eth+ -j DROP
$t -w -t mangle -A $c -o eth+ -j DROP
for h in PREROUTING POSTROUTING; do $t -w -t mangle -I $h -j $c; done`),
}

// undo takes our chains away, also half of them.
const undo = `
for where in filter:INPUT filter:FORWARD filter:OUTPUT mangle:PREROUTING mangle:POSTROUTING; do
	while $t -w -t ${where%:*} -D ${where#*:} -j $c 2>/dev/null; do :; done
done
for table in filter mangle; do
	$t -w -t $table -F $c 2>/dev/null && $t -w -t $table -X $c
done`

// eachFamily runs a script for IPv4, and for IPv6 where there is that.
func eachFamily(script string) string {
	return `both() {
` + script + `
true
}
c=VSPHERE-SANDBOX-CUT
set -e
t=iptables icmp=icmp; both
! ip6tables -w -n -L INPUT >/dev/null 2>&1 || { t=ip6tables icmp=ipv6-icmp; both; }`
}
