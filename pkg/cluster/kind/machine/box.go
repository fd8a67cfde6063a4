package machine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
)

// box is the container as the machine's goroutine, which it belongs to, knows it.
type box struct {
	m     *Machine
	is    runtime.Container
	there bool
	// time is the VM's boot time that the running container belongs to.
	time time.Time
	// told is the PID that was told as started; 0 when none is.
	told int
	// frozen tells whether the container was made to stand still.
	frozen bool
	// pause is that before the next start of one that somebody has ended, wait what is left of it.
	pause, wait time.Duration
	failures    int // starts in a row that did not last
	due         time.Time
	started     time.Time
	// ready is the PID of the container that was prepared, netOf that whose network is as it should be.
	ready, netOf int
	net          cut
	kubelet      *crash
	notices      map[string]string // what was told last, by what it is about
}

// each call of the runtime's command is given that long; stopping a guest has grace of its own in that.
const (
	callTimeout = time.Minute
	grace       = 10 * time.Second
)

// call does something to the container that is not broken off in the middle because the machine ends.
func (b *box) call(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	return f(ctx)
}

// inspect looks how the container is; the error is that the runtime does not tell.
func (b *box) inspect(ctx context.Context) error {
	b.m.mu.Lock()
	b.m.look = false // what happens from now on is looked at again
	b.m.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	is, err := b.m.opts.Runtime.Inspect(ctx, b.m.opts.Container)
	switch {
	case err == nil:
		b.is, b.there = is, true
	case coded.Is(err, runtime.ContainerMissing):
		b.is, b.there = runtime.Container{}, false
	default:
		return err
	}
	return nil
}

func (b *box) runs() bool { return b.there && b.is.Running() && b.is.PID != 0 }

func (b *box) paused() bool { return b.is.Status == "paused" }

// notice tells what is wrong about something, the same once; nil: nothing is any more.
func (b *box) notice(about string, err error) {
	said := ""
	if err != nil {
		said = err.Error()
	}
	if b.notices[about] == said {
		return
	}
	if b.notices == nil {
		b.notices = map[string]string{}
	}
	b.notices[about] = said
	if err != nil {
		b.m.opts.Notice(fmt.Errorf("node %s: %w", b.m.opts.Name, err))
	}
}

func (b *box) notify(state child.State, pid int, err error) {
	c := child.Change{Name: "node/" + b.m.opts.Name, State: state, PID: pid, Err: err}
	if err != nil {
		c.Err = fmt.Errorf("%s: %w", c.Name, err)
	}
	if state == child.Restarting {
		c.Backoff = b.pause
	}
	b.m.opts.Notify(c)
}

// show makes the container's state what [Machine.State] tells, and tells of a container that was started or has ended. ended is
// why; nil: its VM's life has it so.
func (b *box) show(p node.Process, ended error) {
	pid := 0
	if b.runs() {
		pid = b.is.PID
	}
	m := b.m
	m.mu.Lock()
	m.process, m.pid = p, pid
	m.mu.Unlock()
	if b.told == pid {
		return
	}
	if b.told != 0 {
		state := child.Stopped
		if ended != nil {
			state = child.Exited
		}
		b.kubelet.end()
		b.kubelet = nil
		b.notify(state, b.told, ended)
	}
	if b.told = pid; pid != 0 {
		b.started = time.Now()
		b.notify(child.Started, pid, nil)
		m.opts.Addressed(b.is.Networks[m.opts.Network])
	}
}

// Why a container that was to run does not.
var (
	errRemoved  = errors.New("its container is not there any more: somebody has removed it, and only a new cluster has it again; the VM is powered on without a guest")
	errPaused   = errors.New("somebody has paused its container, which goes on now: its VM runs")
	errUnpaused = errors.New("somebody has had its container go on, which stands still again now: its VM is suspended, or its guest hangs")
	errEnded    = errors.New("its container was ended by somebody else, or by the container runtime's own end, although its VM is powered on")
)

func (b *box) lost() error {
	if !b.there {
		return errRemoved
	}
	return fmt.Errorf("%w (%s)", errEnded, b.exit())
}

// exit tells the exit status of a container that has ended, and what it means where that is known.
func (b *box) exit() string {
	if b.is.ExitCode != 255 {
		return fmt.Sprintf("exit status %d", b.is.ExitCode)
	}
	return "exit status 255: its systemd does not start where other nodes have taken all inotify instances; try `sysctl fs.inotify.max_user_instances=1024`"
}
