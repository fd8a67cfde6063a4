package guest

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

// container is the container of a VM. It belongs to the goroutine of the Guest.
type container struct {
	m      *Guest
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

// call runs f without canceling it halfway when the Guest stops.
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

// publish sets the container's state ([Guest.State]) and notifies of its start or end. ended is the reason of an
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
		m.opts.OnAddress(c.state.Networks[m.opts.Network])
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

// wanted is the state that the VM asks for.
type wanted struct {
	node.VM
	node.Next
	existed, look bool
	shutdown      bool // the guest shut down before the VM was powered off
	cut           cut
}

// wanted returns what the VM asks of a container that runs since boot.
func (m *Guest) wanted(boot time.Time) wanted {
	m.mu.Lock()
	defer m.mu.Unlock()
	vm := m.life.VM
	return wanted{
		VM: vm, Next: m.life.Next(boot), existed: m.existed, look: m.look, cut: m.cut,
		shutdown: vm.Exists && vm.Power == node.Off && !m.guestUp,
	}
}

// reconcile brings the container with the VM. It returns false if the caller must retry.
func (c *container) reconcile(ctx context.Context) bool {
	c.wait = 0
	w := c.m.wanted(c.boot)
	if !w.existed {
		return true
	}
	if w.look {
		err := c.inspect(ctx)
		if ctx.Err() != nil {
			return true
		}
		c.notice("runtime", err)
		if err != nil {
			c.m.unsure()
			return false
		}
		c.reportChanges()
	}
	err := c.apply(ctx, w)
	c.notice("container", err)
	return err == nil
}

// reportChanges reports what another process did to the container.
func (c *container) reportChanges() {
	switch {
	case !c.runs() && c.notified != 0:
		c.publish(node.Stopped, c.endError())
		if c.exists {
			c.scheduleRestart()
		}
	case c.runs() && c.notified != 0 && c.notified != c.state.PID:
		c.publish(node.Running, errEnded) // and started
	case c.runs() && c.notified != 0 && c.paused() && !c.frozen:
		c.notice("pause", errPaused)
	case c.runs() && c.notified != 0 && !c.paused() && c.frozen:
		c.notice("pause", errUnpaused)
	}
}

// scheduleRestart schedules the next start of a container that another process stopped. The longer it ran, the sooner it
// starts.
func (c *container) scheduleRestart() {
	if time.Since(c.started) >= healthy {
		c.failures = 0
	}
	c.failures++
	c.pause = retries().After(c.failures)
	c.due = time.Now().Add(c.pause)
	c.m.mu.Lock()
	c.m.count++
	c.m.process = node.Crashing
	c.m.mu.Unlock()
	c.notify(child.Restarting, 0, nil)
}

// apply brings the container in line.
func (c *container) apply(ctx context.Context, w wanted) error {
	if !w.Exists {
		// The container stays: kind creates none later, and a VM that is created or registered again needs it.
		if err := c.powerOff(ctx, w); err != nil {
			return fmt.Errorf("its VM is gone, but its container still runs: %w", err)
		}
		return nil
	}
	if w.End {
		if err := c.powerOff(ctx, w); err != nil {
			return err
		}
	}
	if !c.runs() {
		if !c.exists && w.Power == node.On {
			c.notice("gone", errRemoved)
		}
		if !c.exists || !w.Start {
			c.stopped()
			return nil
		}
		if c.wait = time.Until(c.due); c.wait > 0 {
			return nil
		}
		c.wait = 0
		if err := c.start(ctx, w); err != nil {
			return err
		}
	}
	if c.boot.IsZero() {
		c.boot = w.BootTime // it was not known before, or the container ran already
	}
	if err := c.applyPause(ctx, w); err != nil {
		return err
	}
	if c.paused() {
		return nil
	}
	return errors.Join(c.prepare(ctx), c.applyCut(ctx, w.cut))
}

// stopped sets the state of a container that is stopped or missing.
func (c *container) stopped() {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	if c.m.life.VM.Power != node.On || !c.exists {
		c.m.process = node.Stopped
		c.due = time.Time{}
	}
}

// powerOff ends a boot of the VM: gracefully if the guest shut down first, else at once.
func (c *container) powerOff(ctx context.Context, w wanted) error {
	if c.runs() {
		end := func(ctx context.Context) error { return c.m.opts.Runtime.Kill(ctx, c.m.opts.Container) }
		if w.shutdown && !c.paused() {
			end = func(ctx context.Context) error { return c.m.opts.Runtime.Stop(ctx, c.m.opts.Container, grace) }
		}
		if err := c.endAndWait(ctx, end); err != nil {
			return fmt.Errorf("power off: %w", err)
		}
	}
	c.boot, c.due, c.failures = time.Time{}, time.Time{}, 0
	c.publish(node.Stopped, nil)
	c.m.mu.Lock()
	c.m.count = 0
	c.m.life.Unhang()
	c.m.mu.Unlock()
	return nil
}

// endAndWait runs end and waits until the container has stopped. Some runtimes do not kill a paused container: it is unpaused
// first.
func (c *container) endAndWait(ctx context.Context, end func(context.Context) error) error {
	err := c.call(ctx, end)
	if err != nil && c.paused() {
		if e := c.call(ctx, c.unpause); e == nil {
			err = c.call(ctx, end)
		}
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(grace)
	for {
		if e := c.inspect(context.WithoutCancel(ctx)); e != nil {
			return errors.Join(err, e)
		}
		if !c.runs() {
			return nil
		}
		if err != nil && !coded.Is(err, runtime.ContainerStopped) {
			return err
		}
		select {
		case <-tick.C:
		case <-deadline:
			return fmt.Errorf("container %s still runs after %s", c.m.opts.Container, grace)
		}
	}
}

func (c *container) unpause(ctx context.Context) error {
	return c.m.opts.Runtime.Unpause(ctx, c.m.opts.Container)
}

func (c *container) start(ctx context.Context, w wanted) error {
	if err := c.m.opts.Identify(w.VM); err != nil {
		return fmt.Errorf("power on: %w", err)
	}
	err := c.call(ctx, func(ctx context.Context) error { return c.m.opts.Runtime.Start(ctx, c.m.opts.Container) })
	if e := c.inspect(context.WithoutCancel(ctx)); e != nil {
		return errors.Join(err, e)
	}
	switch {
	case err != nil && !c.runs():
		return fmt.Errorf("power on: %w", err)
	case !c.runs():
		return fmt.Errorf("power on: its container exited at once; see its log: %s", c.exitStatus())
	}
	c.publish(node.Running, nil)
	return nil
}

// applyPause pauses or unpauses the container.
func (c *container) applyPause(ctx context.Context, w wanted) error {
	pause := w.State != node.Running
	if pause != c.paused() {
		do, what := c.unpause, "unpause"
		if pause {
			do = func(ctx context.Context) error { return c.m.opts.Runtime.Pause(ctx, c.m.opts.Container) }
			what = "pause"
		}
		err := c.call(ctx, do)
		if e := c.inspect(context.WithoutCancel(ctx)); e != nil {
			return errors.Join(err, e)
		}
		if c.paused() != pause {
			c.m.unsure()
			return errors.Join(err, fmt.Errorf("could not %s the container: its state is %s", what, c.state.Status))
		}
	}
	c.frozen = pause
	c.notice("gone", nil)
	c.notice("pause", nil)
	if !pause && c.kubelet != nil {
		c.publish(node.Crashing, nil)
	} else {
		c.publish(w.State, nil)
	}
	return nil
}

// end stops the container when the Guest stops.
func (c *container) end(ctx context.Context) {
	if c.m.opts.Keep() {
		c.kubelet.end()
		return
	}
	w := c.m.wanted(c.boot)
	ctx = context.WithoutCancel(ctx)
	var err error
	if w.existed {
		if err = c.inspect(ctx); err == nil {
			w.shutdown = false
			err = c.powerOff(ctx, w)
		}
	}
	c.kubelet.end()
	c.notice("container", errors.Join(err, c.m.detachAll(ctx)))
}
