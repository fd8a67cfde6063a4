package guest

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

// Containers is the part of a container runtime that a Guest uses.
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

// Disks shows volumes to guests; package disks implements it.
type Disks interface {
	// Plug makes a disk visible to the guest whose /dev/disk/by-id is the given folder of this host. Unplug reverts that.
	// Both are idempotent.
	Plug(ctx context.Context, folder string, d node.Disk) error
	Unplug(ctx context.Context, folder string, d node.Disk) error
	// Resize updates the disk's size in the guest. Flush writes the guest's unwritten data to the volume.
	Resize(ctx context.Context, d node.Disk) error
	Flush(ctx context.Context, d node.Disk) error
	// Prepare returns a shell script that a guest runs at each start; it may be empty. Check returns a command that
	// succeeds in a guest that sees the disk.
	Prepare() string
	Check(d node.Disk) []string
}

// Options configure a [Guest]. Container, Runtime and Notify are required.
type Options struct {
	// Name is the node's; the component is called node/NAME. Empty: the container's. Name is the node's name; the
	// component is called node/NAME. Default: Container.
	Name string
	// Container is the container's name. The container may be missing.
	Container string
	Runtime   Containers
	// Watch reports events of the container. If nil, the Guest inspects the container periodically.
	Watch *Watch
	// Network is the runtime's network that the container's address is read from. Default: kind's.
	Network string
	// Disks shows volumes to the guest; nil for none. ByID is the folder of this host that is mounted at the container's
	// /dev/disk/by-id.
	Disks Disks
	ByID  string
	// Identify is called before each start, so that the guest finds the VM's identity. It is called as Notify is. Optional.
	Identify func(node.VM) error
	// Notify is called for every change of the container, as for a process: Started with the PID that the runtime reports,
	// Stopped when the VM's life cycle ended it, Exited with the reason otherwise. Calls come from one goroutine at a time. It
	// must not call the Guest.
	Notify func(child.Change)
	// Notice is called once for each failure that is retried, and for each change by another process. It is called as Notify
	// is. Optional.
	Notice func(error)
	// OnAddress is called with the container's address after each start. It is called as Notify is. Optional.
	OnAddress func(netip.Addr)
	// Keep reports, when the Guest is stopped, whether to leave the container and its disks as they are. Optional.
	Keep   func() bool
	Logger *slog.Logger // nil: none
}

// kindNetwork is the network that kind creates.
const kindNetwork = "kind"

func (o *Options) complete() error {
	switch {
	case o.Container == "":
		return errors.New("machine: Options.Container is empty")
	case o.Runtime == nil:
		return errors.New("machine: Options.Runtime is nil")
	case o.Notify == nil:
		return errors.New("machine: Options.Notify is nil")
	case o.Disks != nil && o.ByID == "":
		return errors.New("machine: Options.Disks needs Options.ByID")
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
		o.Identify = func(node.VM) error { return nil }
	}
	if o.Keep == nil {
		o.Keep = func() bool { return false }
	}
	if o.OnAddress == nil {
		o.OnAddress = func(netip.Addr) {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

// prepare runs the script of the disks once after each start: it creates the device files for later disks.
func (c *container) prepare(ctx context.Context) error {
	if c.prepared == c.state.PID {
		return nil
	}
	if d := c.m.opts.Disks; d != nil {
		if script := d.Prepare(); script != "" {
			if err := c.exec(ctx, script); err != nil {
				return fmt.Errorf("its disks' devices: %w", err)
			}
		}
	}
	c.prepared = c.state.PID
	c.m.attached.newGuest()
	return nil
}

// cut is how the packet filter treats the container's traffic.
type cut int

const (
	connected cut = iota
	rejecting     // connections are reset, new ones refused
	dropping      // packets vanish
)

// Cut blocks all traffic of the container and its pods until [Guest.Restore]: connections are reset or, if silently,
// packets are dropped. The container keeps its address, routes and DNS names. For a container that is stopped or paused,
// Cut returns at once and takes effect at the next start.
func (m *Guest) Cut(silently bool) error {
	if silently {
		return m.setCut(dropping)
	}
	return m.setCut(rejecting)
}

// Restore ends [Guest.Cut].
func (m *Guest) Restore() error { return m.setCut(connected) }

// IsCut reports whether the network is cut.
func (m *Guest) IsCut() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cut != connected
}

func (m *Guest) setCut(want cut) error {
	m.mu.Lock()
	m.cut = want
	m.mu.Unlock()
	return m.do(context.Background(), func(ctx context.Context, c *container) error {
		if !c.runs() || c.paused() {
			return nil
		}
		return c.applyCut(ctx, want)
	})
}

// applyCut brings the container's packet filter in line.
func (c *container) applyCut(ctx context.Context, want cut) error {
	if c.netPID != c.state.PID { // a new container has no rules of ours
		c.netPID, c.net = c.state.PID, connected
	}
	if c.net == want {
		return nil
	}
	if err := c.exec(ctx, filter[want]); err != nil {
		return fmt.Errorf("could not change the packet filter of its network: %w", err)
	}
	c.net = want
	return nil
}

// filter are the scripts that set a container's packet filter. The rules match only the container's own interfaces, not
// those between its pods. Packets are dropped in the mangle table, which all of them pass and which has no other rules;
// only the filter table can reject packets.
var filter = map[cut]string{
	connected: eachFamily(undo),
	rejecting: eachFamily(undo + `
$t -w -N $c
$t -w -A $c -o eth+ -p tcp --tcp-flags RST RST -j ACCEPT
$t -w -A $c -o eth+ -p $icmp -j ACCEPT
$t -w -A $c -i eth+ -p tcp -j REJECT --reject-with tcp-reset
$t -w -A $c -o eth+ -p tcp -j REJECT --reject-with tcp-reset
$t -w -A $c -i eth+ -j REJECT
$t -w -A $c -o eth+ -j REJECT
for h in INPUT FORWARD OUTPUT; do $t -w -I $h -j $c; done`),
	dropping: eachFamily(undo + `
$t -w -t mangle -N $c
$t -w -t mangle -A $c -i eth+ -j DROP
$t -w -t mangle -A $c -o eth+ -j DROP
for h in PREROUTING POSTROUTING; do $t -w -t mangle -I $h -j $c; done`),
}

// undo removes our chains, also incomplete ones.
const undo = `
for where in filter:INPUT filter:FORWARD filter:OUTPUT mangle:PREROUTING mangle:POSTROUTING; do
	while $t -w -t ${where%:*} -D ${where#*:} -j $c 2>/dev/null; do :; done
done
for table in filter mangle; do
	$t -w -t $table -F $c 2>/dev/null && $t -w -t $table -X $c
done`

// eachFamily runs a script for IPv4, and for IPv6 if the container has it.
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
