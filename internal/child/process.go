package child

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// process is one run of a child.
type process struct {
	cmd      *exec.Cmd
	pid      int      // also the id of its process group
	lifeline *os.File // the end that must stay open as long as the process lives
	logPath  string
	logStart int64 // size of the log when the process was started

	ending atomic.Bool // it is to go, and does so by our hand

	gone chan struct{} // closed when the process has been reaped
	err  error         // how it ended; valid once gone is closed

	mu    sync.Mutex
	alive bool // pid is still this process's: it has not been reaped
}

// watch waits for the end of the process, takes along what is left of its
// group, and reaps it. It is the process's own goroutine and ends with it.
func (p *process) watch() {
	defer close(p.gone)
	p.err = reap(p.cmd, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.alive = false
		_ = unix.Kill(-p.pid, unix.SIGKILL) // mostly there is nothing left of it
	})
	_ = p.lifeline.Close()
}

// signalGroup sends sig to the whole group; for a process that has ended it does nothing. The lock prevents that the pid
// is reaped, and reused, in between.
func (p *process) signalGroup(sig unix.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.alive {
		return nil
	}
	if err := unix.Kill(-p.pid, sig); err != nil && !errors.Is(err, unix.ESRCH) {
		return err
	}
	return nil
}

// terminate asks the process, and it alone, to end: it knows best how to end
// what it started. CONT wakes it up to hear it, should it be suspended. Errors
// do not matter, KILL comes next.
func (p *process) terminate() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.alive {
		_ = unix.Kill(p.pid, unix.SIGTERM)
		_ = unix.Kill(-p.pid, unix.SIGCONT)
	}
}

func (p *process) livePID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.alive {
		return 0
	}
	return p.pid
}

func (p *process) tail() []string {
	if p.logPath == "" {
		return nil
	}
	return readTail(p.logPath, p.logStart)
}

// Stop ends the child: TERM, and KILL to its process group when it has not ended after the Spec's StopGrace or when ctx
// is done, whichever is first. A suspended child is resumed to receive TERM. Stop returns when the process has been
// reaped and the last Change was reported. It may be called repeatedly and concurrently. It only fails if the process
// could not be ended.
func (c *Child) Stop(ctx context.Context) error {
	c.stopOnce.Do(func() { close(c.stopping) })
	select {
	case <-c.done:
	case <-ctx.Done():
		return c.Kill()
	}
	return c.stopErr
}

// Kill ends the child as a loss of power would: KILL to its process group at once, also during the grace of a Stop, and
// no restart. It returns when the process has been reaped and the last Change was reported.
func (c *Child) Kill() error {
	c.killOnce.Do(func() { close(c.killing) })
	c.stopOnce.Do(func() { close(c.stopping) })
	<-c.done
	return c.stopErr
}

// Crash kills the running process as a crash would: KILL to its process group, and then as after any other exit: Exited,
// back-off and a new process. It returns when the process has been reaped, before the Changes are reported. It fails if
// no process runs.
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

// Backoff is the pause before a restart: Min after the first crash, doubled
// with every further one up to Max. A run that lasted Reset or longer counts as
// healthy: the crash after it is a first one again. A field that is 0 takes its
// default: 200 ms, 10 s, 30 s.
type Backoff struct {
	Min, Max, Reset time.Duration
}

func (b Backoff) withDefaults() Backoff {
	if b.Min <= 0 {
		b.Min = 200 * time.Millisecond
	}
	if b.Max <= 0 {
		b.Max = 10 * time.Second
	}
	b.Max = max(b.Min, b.Max)
	if b.Reset <= 0 {
		b.Reset = 30 * time.Second
	}
	return b
}

// next returns the pause after a run of length ran, given the pause before it
// (0 when there was none).
func (b Backoff) next(previous, ran time.Duration) time.Duration {
	if previous <= 0 || ran >= b.Reset {
		return b.Min
	}
	return min(2*previous, b.Max)
}
