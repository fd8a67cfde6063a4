package guest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
)

var (
	_ node.Guest   = (*Guest)(nil)
	_ node.Network = (*Guest)(nil)
)

// Guest drives the container of one VM. Create it with [New]. Its methods may be called from any goroutine.
type Guest struct {
	opts Options

	mu      sync.Mutex
	life    node.Life
	existed bool // an observation has shown the VM
	guestUp bool // the guest was up when the VM was last seen powered on
	look    bool // the container must be inspected
	process node.Process
	pid     int
	count   int // restarts after crashes, since the last boot
	cut     cut

	attached attachments

	wake     chan struct{}
	requests chan request
	quit     context.CancelFunc
	done     chan struct{}
}

// New returns a Guest. It does not touch the container until [Guest.Observe] has shown the VM. End it with
// [Guest.Stop].
func New(opts Options) (*Guest, error) {
	if err := opts.complete(); err != nil {
		return nil, err
	}
	ctx, quit := context.WithCancel(context.Background())
	m := &Guest{
		opts: opts, process: node.Stopped, look: true,
		wake: make(chan struct{}, 1), requests: make(chan request), quit: quit, done: make(chan struct{}),
	}
	go m.run(ctx)
	return m, nil
}

// Observe sets the state of the VM. It returns at once; the container follows.
func (m *Guest) Observe(vm node.VM) {
	m.change(func() {
		m.life.Observe(vm)
		m.existed = m.existed || vm.Exists
		if vm.Power == node.On {
			m.guestUp = vm.GuestUp
		}
	})
}

// Hang pauses the guest until [Guest.Unhang], or until the VM is reset or powered off. It returns false, without
// effect, if the guest does not run.
func (m *Guest) Hang() (ok bool) {
	m.change(func() { ok = m.life.Hang(m.process) })
	return ok
}

// Unhang resumes a hung guest.
func (m *Guest) Unhang() { m.change(m.life.Unhang) }

// Die kills the container as the loss of its host's power does, independent of what the vCenter shows. It starts again
// after the VM has booted again or was seen powered off.
func (m *Guest) Die() { m.change(m.life.Die) }

// State returns the state of the container, its PID as the runtime reports it (0 if it does not run), and the number of
// restarts since the VM booted: of the kubelet after crashes, and of the container after another process stopped it.
func (m *Guest) State() (p node.Process, pid, restarts int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.process, m.pid, m.count
}

// Stop kills the container, detaches its disks, and ends the Guest. With Options.Keep it only ends the Guest. The
// container is not removed. Stop returns when that is done, or with ctx's error.
func (m *Guest) Stop(ctx context.Context) error {
	m.quit()
	select {
	case <-m.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (m *Guest) change(f func()) {
	m.mu.Lock()
	f()
	m.mu.Unlock()
	notify.Wake(m.wake)
}

// lookAgain makes the Guest inspect the container now.
func (m *Guest) lookAgain() { m.change(func() { m.look = true }) }

// Failures are retried with a back-off. Without one the container is inspected every maxRetry.
const (
	minRetry = time.Second
	maxRetry = 30 * time.Second
)

func retries() backoff.Backoff { return backoff.Backoff{Min: minRetry, Max: maxRetry} }

// unsure makes the Guest inspect the container when it wakes next.
func (m *Guest) unsure() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.look = true
}

func (m *Guest) run(ctx context.Context) {
	defer close(m.done)
	forget := m.opts.Watch.add(m.opts.Container, m.lookAgain)
	defer forget()
	c := &container{m: m}
	defer c.end(ctx)
	retry := time.NewTimer(0)
	defer retry.Stop()
	failures := 0
	for {
		plugged := m.reconcileDisks(ctx, c) // before the start: the guest may use its disks at once
		switch inLine := c.reconcile(ctx); {
		case ctx.Err() != nil:
			return
		case inLine && plugged && c.wait > 0:
			retry.Reset(c.wait)
		case inLine && plugged:
			failures = 0
			retry.Reset(maxRetry)
		default:
			failures++
			retry.Reset(retries().After(failures))
		}
		select {
		case <-m.wake:
		case a := <-m.requests:
			a.Done <- a.Do(ctx, c)
		case <-retry.C:
			m.unsure()
		case <-ctx.Done():
			return
		}
	}
}

// request is a request to the Guest's goroutine.
type request = node.Request[func(context.Context, *container) error]

// do runs f in the Guest's goroutine and returns its error.
func (m *Guest) do(ctx context.Context, f func(context.Context, *container) error) error {
	return node.Send(ctx, m.requests, m.done, f)
}

// Scripts for the container. Its first process, systemd, restarts a kubelet that has exited.
const (
	killKubelet = `p=$(systemctl show --property=MainPID --value kubelet.service)
[ "${p:-0}" != 0 ] || { echo "no kubelet runs" >&2; exit 1; }
kill -KILL "$p"
while [ -d "/proc/$p" ]; do sleep 0.05; done`
	kubeletRuns = `until systemctl is-active --quiet kubelet.service &&
	[ "$(systemctl show --property=MainPID --value kubelet.service)" != 0 ]; do sleep 0.2; done`
	restartKubelet = `systemctl restart kubelet.service`
)

// Crash kills the kubelet and returns when its process is gone. systemd starts it again after [restart].
func (m *Guest) Crash(ctx context.Context) error {
	return m.do(ctx, func(ctx context.Context, c *container) error {
		if err := c.exec(ctx, killKubelet); err != nil {
			return fmt.Errorf("crash of the kubelet: %w", err)
		}
		c.kubelet.end()
		c.kubelet = c.crashed(ctx)
		return nil
	})
}

// Restart restarts the kubelet and returns when the new one has started.
func (m *Guest) Restart(ctx context.Context) error {
	return m.do(ctx, func(ctx context.Context, c *container) error {
		if err := c.exec(ctx, restartKubelet); err != nil {
			return fmt.Errorf("kubelet: %w", err)
		}
		return nil
	})
}

// exec runs a shell script in the container, or returns node.ErrNoGuest if that does not run.
func (c *container) exec(ctx context.Context, script string) error {
	if !c.runs() || c.paused() {
		return node.ErrNoGuest
	}
	return c.call(ctx, func(ctx context.Context) error { return c.m.shell(ctx, script) })
}

func (m *Guest) shell(ctx context.Context, script string) error {
	var said strings.Builder
	err := m.opts.Runtime.Exec(ctx, m.opts.Container, nil, nil, &said, "sh", "-c", script)
	if coded.Is(err, runtime.ContainerStopped) || coded.Is(err, runtime.ContainerMissing) {
		return fmt.Errorf("%w: %w", node.ErrNoGuest, err)
	}
	return err
}

// crash waits for the restart of a kubelet that was killed.
type crash struct {
	quit context.CancelFunc
	done sync.WaitGroup
}

func (k *crash) end() {
	if k != nil {
		k.quit()
		k.done.Wait()
	}
}

var errKilled = errors.New("its kubelet was killed")

// restart is the time that systemd in kind's nodes waits before it restarts the kubelet.
const restart = time.Second

// crashed reports that the kubelet was killed, and later that the next one has started.
func (c *container) crashed(ctx context.Context) *crash {
	m := c.m
	m.mu.Lock()
	m.process = node.Crashing
	m.count++
	m.mu.Unlock()
	c.notify(child.Exited, c.notified, errKilled)
	m.opts.Notify(child.Change{Name: "node/" + m.opts.Name, State: child.Restarting, PID: c.notified, Backoff: restart})
	k := new(crash)
	ctx, k.quit = context.WithTimeout(ctx, callTimeout)
	pid := c.notified
	k.done.Go(func() {
		_ = m.shell(ctx, kubeletRuns) // a failure shows in the state of the node
		if ctx.Err() != nil {
			return
		}
		a := request{Done: make(chan error, 1), Do: func(context.Context, *container) error {
			if c.kubelet == k {
				c.kubelet = nil
				c.notify(child.Started, pid, nil)
			}
			return nil
		}}
		select {
		case m.requests <- a:
		case <-ctx.Done():
		}
	})
	return k
}

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
