package child

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"
)

// Stop ends the child: TERM, and KILL to its process group when it has not
// ended after the Spec's StopGrace or when ctx is done, whichever is first. A
// suspended child is resumed to receive TERM. Stop returns when the process has
// been reaped and the last Change told. It may be called again, and by several
// at once. The error is not nil only when the process could not be ended.
func (c *Child) Stop(ctx context.Context) error {
	c.stopOnce.Do(func() { close(c.stopping) })
	select {
	case <-c.done:
	case <-ctx.Done():
		return c.Kill()
	}
	return c.stopErr
}

// Kill ends the child as pulling the power cord would: KILL to its process
// group at once, also during the grace of a Stop, and no restart. It returns
// when the process has been reaped and the last Change told.
func (c *Child) Kill() error {
	c.killOnce.Do(func() { close(c.killing) })
	c.stopOnce.Do(func() { close(c.stopping) })
	<-c.done
	return c.stopErr
}

// Crash kills the running process as a fault of its own would: KILL to its
// process group, and the child goes on as after any other exit, with Exited,
// back-off and a new process. It returns when the process has been reaped,
// before the Changes are told. The error says that there was none to kill.
func (c *Child) Crash() error {
	c.mu.Lock()
	state, p := c.state, c.process
	c.mu.Unlock()
	if state == Stopped {
		return fmt.Errorf("%s: %w", c.spec.Name, ErrStopped)
	}
	if p == nil || p.livePID() == 0 {
		return fmt.Errorf("%s: %w", c.spec.Name, ErrNotRunning)
	}
	return c.kill(p)
}

// Suspend freezes the child's process group with SIGSTOP until Resume, Restart,
// Stop or Kill. A process that is started in the meantime, because a suspended
// one was killed or was just being restarted, is frozen from its first moment.
func (c *Child) Suspend() error { return c.freeze(true, unix.SIGSTOP) }

// Resume lets a suspended child run on.
func (c *Child) Resume() error { return c.freeze(false, unix.SIGCONT) }

func (c *Child) freeze(suspended bool, sig unix.Signal) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == Stopped {
		return fmt.Errorf("%s: %w", c.spec.Name, ErrStopped)
	}
	c.suspended = suspended
	if c.process == nil {
		return nil
	}
	if err := c.process.signalGroup(sig); err != nil {
		return fmt.Errorf("%s: %w", c.spec.Name, err)
	}
	return nil
}
