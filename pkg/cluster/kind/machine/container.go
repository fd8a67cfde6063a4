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

// container is the container of a VM. It belongs to the goroutine of the Machine.
type container struct {
	m      *Machine
	state  runtime.Container
	exists bool
	// boot is the VM's boot time that the running container belongs to.
	boot time.Time
	// notified is the PID last reported as started; 0 when none is.
	notified int
	// frozen is set when this package paused the container.
	frozen bool
	// pause is the back-off after the last unexpected exit, wait what remains of it.
	pause, wait time.Duration
	failures    int // starts in a row that did not last
	due         time.Time
	started     time.Time
	// prepared is the PID of the container that was prepared, netPID the PID that net applies to.
	prepared, netPID int
	net              cut
	kubelet          *crash
	notices          map[string]string // the last error reported, by topic
}

// Each call of the runtime's command may take callTimeout. Stopping a guest has grace within that.
const (
	callTimeout = time.Minute
	grace       = 10 * time.Second
)

// call runs f without canceling it halfway when the Machine stops.
func (c *container) call(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	return f(ctx)
}

// inspect reads the container's state from the runtime.
func (c *container) inspect(ctx context.Context) error {
	c.m.mu.Lock()
	c.m.look = false // before the call: a change from now on is inspected again
	c.m.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	is, err := c.m.opts.Runtime.Inspect(ctx, c.m.opts.Container)
	switch {
	case err == nil:
		c.state, c.exists = is, true
	case coded.Is(err, runtime.ContainerMissing):
		c.state, c.exists = runtime.Container{}, false
	default:
		return err
	}
	return nil
}

func (c *container) runs() bool { return c.exists && c.state.Running() && c.state.PID != 0 }

func (c *container) paused() bool { return c.state.Status == "paused" }

// notice reports the error of a topic once. A nil error resets the topic.
func (c *container) notice(about string, err error) {
	said := ""
	if err != nil {
		said = err.Error()
	}
	if c.notices[about] == said {
		return
	}
	if c.notices == nil {
		c.notices = map[string]string{}
	}
	c.notices[about] = said
	if err != nil {
		c.m.opts.Notice(fmt.Errorf("node %s: %w", c.m.opts.Name, err))
	}
}

func (c *container) notify(state child.State, pid int, err error) {
	change := child.Change{Name: "node/" + c.m.opts.Name, State: state, PID: pid, Err: err}
	if err != nil {
		change.Err = fmt.Errorf("%s: %w", change.Name, err)
	}
	if state == child.Restarting {
		change.Backoff = c.pause
	}
	c.m.opts.Notify(change)
}

// publish sets the container's state ([Machine.State]) and notifies of its start or end. ended is the reason of an
// unexpected end; nil when the VM's life cycle ended it.
func (c *container) publish(p node.Process, ended error) {
	pid := 0
	if c.runs() {
		pid = c.state.PID
	}
	m := c.m
	m.mu.Lock()
	m.process, m.pid = p, pid
	m.mu.Unlock()
	if c.notified == pid {
		return
	}
	if c.notified != 0 {
		state := child.Stopped
		if ended != nil {
			state = child.Exited
		}
		c.kubelet.end()
		c.kubelet = nil
		c.notify(state, c.notified, ended)
	}
	if c.notified = pid; pid != 0 {
		c.started = time.Now()
		c.notify(child.Started, pid, nil)
		m.opts.Addressed(c.state.Networks[m.opts.Network])
	}
}

// Reasons why the container of a VM that runs is stopped or paused.
var (
	errRemoved  = errors.New("its container was removed by another process; only a new cluster creates it again; the VM is powered on without a guest")
	errPaused   = errors.New("another process paused its container; it is unpaused, for its VM runs")
	errUnpaused = errors.New("another process unpaused its container; it is paused again, for its VM is suspended or its guest hangs")
	errEnded    = errors.New("its container was stopped by another process, or with the container runtime, although its VM is powered on")
)

func (c *container) endError() error {
	if !c.exists {
		return errRemoved
	}
	return fmt.Errorf("%w (%s)", errEnded, c.exitStatus())
}

// exitStatus returns the exit status, and the known cause of it.
func (c *container) exitStatus() string {
	if c.state.ExitCode != 255 {
		return fmt.Sprintf("exit status %d", c.state.ExitCode)
	}
	return "exit status 255: its systemd does not start where other nodes have taken all inotify instances; try `sysctl fs.inotify.max_user_instances=1024`"
}
