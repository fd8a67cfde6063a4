package child

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret"
)

// reapWait is how long a killed process may take to go away. Only one that
// hangs inside the kernel (a dead network file system) takes longer.
const reapWait = 10 * time.Second

// turn is what the supervisor does next.
type turn struct {
	pause   bool            // back off, then start again
	stop    bool            // finish, with err
	err     error           // why the stop was not clean
	stuck   bool            // the process could not be ended
	pid     int             // the process the stop was about
	restart *restartRequest // start again at once and answer this
}

// supervise is the child's goroutine: it runs one process after another until the child is stopped.
func (c *Child) supervise() {
	defer close(c.done)
	var delay time.Duration
	var ask *restartRequest
	for {
		began := time.Now()
		next := c.run(ask)
		if next.pause {
			delay = c.spec.Backoff.next(delay, time.Since(began))
			next = c.pause(delay)
		}
		if next.stop {
			if next.stuck {
				c.stopErr = next.err
			} else {
				spawn.release()
			}
			c.emit(Change{State: Stopped, PID: next.pid, Err: next.err})
			return
		}
		if ask = next.restart; ask != nil {
			delay = 0
		}
	}
}

// run starts one process and stays with it until it has ended.
func (c *Child) run(ask *restartRequest) turn {
	select {
	case <-c.stopping:
		return turn{stop: true}
	default:
	}
	p, err := c.launch(ask != nil)
	if err != nil {
		err = fmt.Errorf("%s: %w", c.spec.Name, err)
		if ask != nil {
			ask.done <- err
		}
		c.emit(Change{State: Exited, Err: err})
		return c.afterExit()
	}
	c.emit(Change{State: Started, PID: p.pid})
	if ask != nil {
		ask.done <- nil
	}
	select {
	case <-p.gone:
		change := Change{State: Exited, PID: p.pid, Tail: p.tail()}
		if p.err != nil {
			change.Err = fmt.Errorf("%s: %w", c.spec.Name, p.err)
		}
		c.emit(change)
		return c.afterExit()
	case <-c.stopping:
		next := turn{stop: true, pid: p.pid}
		next.err, next.stuck = c.end(p)
		return next
	case ask := <-c.asks:
		if err, stuck := c.makeWay(p, ask); stuck {
			ask.done <- err
			return turn{stop: true, pid: p.pid, err: err, stuck: true}
		}
		c.emit(Change{State: Restarting, PID: p.pid})
		return turn{restart: ask}
	}
}

func (c *Child) afterExit() turn {
	if c.spec.Once {
		return turn{stop: true}
	}
	return turn{pause: true}
}

// pause waits out the back-off.
func (c *Child) pause(delay time.Duration) turn {
	c.emit(Change{State: Restarting, Backoff: delay})
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return turn{}
	case <-c.stopping:
		return turn{stop: true}
	case ask := <-c.asks:
		return turn{restart: ask}
	}
}

// end stops p in order: TERM, grace, KILL. Stuck says that p is still there.
func (c *Child) end(p *process) (err error, stuck bool) { //nolint:revive // the error explains both outcomes
	p.ending.Store(true)
	select {
	case <-c.killing:
	default:
		p.terminate()
		grace := time.NewTimer(c.spec.StopGrace)
		defer grace.Stop()
		select {
		case <-p.gone:
			return nil, false
		case <-c.killing:
		case <-grace.C:
			err = fmt.Errorf("%s: killed: SIGTERM did not end it within %v", c.spec.Name, c.spec.StopGrace)
		}
	}
	if killErr := c.kill(p); killErr != nil {
		return killErr, true
	}
	return err, false
}

// kill ends p at once and waits until it has been reaped.
func (c *Child) kill(p *process) error {
	sigErr := p.signalGroup(unix.SIGKILL)
	patience := time.NewTimer(reapWait)
	defer patience.Stop()
	select {
	case <-p.gone:
		return nil
	case <-patience.C:
		if sigErr != nil {
			return fmt.Errorf("%s: process %d: %w", c.spec.Name, p.pid, sigErr)
		}
		return fmt.Errorf("%s: process %d is still there %v after SIGKILL", c.spec.Name, p.pid, reapWait)
	}
}

// launch starts one process. Awake says that a wish to be suspended ends here.
func (c *Child) launch(awake bool) (*process, error) {
	path := c.spec.Path
	if path == "" {
		self, err := self()
		if err != nil {
			return nil, err
		}
		path = self
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("lifeline: %w", err)
	}
	defer read.Close()
	cmd := c.command(path, read)

	p := &process{cmd: cmd, lifeline: write, logPath: c.spec.LogPath, alive: true, gone: make(chan struct{})}
	if c.spec.LogPath != "" {
		log, size, err := openLog(c.spec.LogPath, c.spec.LogLimit)
		if err != nil {
			_ = write.Close()
			return nil, err
		}
		defer log.Close()
		cmd.Stdout, cmd.Stderr, p.logStart = log, log, size
	}
	if err := spawn.start(cmd); err != nil {
		_ = write.Close()
		if c.spec.Mounts {
			err = fmt.Errorf("%w: it needs a mount namespace, which only Linux has, and only for users who may make user namespaces", err)
		}
		return nil, err
	}
	p.pid = cmd.Process.Pid
	c.adopt(p, awake)
	go p.watch()
	return p, nil
}

func (c *Child) command(path string, lifeline *os.File) *exec.Cmd {
	env := c.spec.Env
	if env == nil {
		env, _ = secret.Split(os.Environ())
	}
	files := append([]*os.File(nil), c.spec.Files...)
	fd := 3 + len(files)
	return &exec.Cmd{
		Path:        path,
		Args:        append([]string{path}, c.spec.Args...),
		Env:         append(append([]string(nil), env...), LifelineEnv+"="+strconv.Itoa(fd)),
		Dir:         c.spec.Dir,
		ExtraFiles:  append(files, lifeline),
		SysProcAttr: procAttr(c.spec.Mounts),
	}
}

// adopt makes p the child's process.
func (c *Child) adopt(p *process, awake bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.process = p
	if !c.first {
		c.restarts++
	}
	c.first = false
	if awake {
		c.suspended = false
	}
	if c.suspended {
		// It cannot fail but for p having died already.
		_ = p.signalGroup(unix.SIGSTOP)
	}
}

// LifelineEnv is the environment variable with the file descriptor of a child's lifeline: the reading end of a pipe to
// which nothing is written. Its other end is closed by the parent's death, of any cause.
const LifelineEnv = "VSPHERE_SANDBOX_LIFELINE"

// Lifeline ties this process to the parent that started it as a [Child]: when
// the parent is gone, exit(1) is called, from a goroutine that lives as long as
// the process. Main passes os.Exit, early and once. In a process that is no
// child it does nothing. The variable is removed from the environment and the
// descriptor kept from processes started later, to which it means nothing.
//
// On Linux the kernel kills children in any case, and did so even if they were
// suspended; elsewhere, this is what ends them.
func Lifeline(exit func(code int)) error {
	value, ok := os.LookupEnv(LifelineEnv)
	if !ok {
		return nil
	}
	fd, err := strconv.Atoi(value)
	if err != nil || fd < 3 {
		return fmt.Errorf("%s=%q is not a file descriptor", LifelineEnv, value)
	}
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return fmt.Errorf("%s=%d: %w", LifelineEnv, fd, err)
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFIFO {
		return fmt.Errorf("%s=%d is not a pipe", LifelineEnv, fd)
	}
	unix.CloseOnExec(fd)
	if err := unix.SetNonblock(fd, true); err != nil { // so that waiting costs no thread
		return fmt.Errorf("%s=%d: %w", LifelineEnv, fd, err)
	}
	if err := os.Unsetenv(LifelineEnv); err != nil {
		return err
	}
	pipe := os.NewFile(uintptr(fd), "lifeline")
	go func() {
		defer pipe.Close()
		_, _ = io.Copy(io.Discard, pipe) // returns at the end of file; an error is no better a sign of life
		exit(1)
	}()
	return nil
}

// restartRequest is a restart on its way to the supervisor; the channel, of
// capacity 1, takes the outcome of the start.
type restartRequest struct {
	done   chan error
	gentle bool // TERM first
}

// Restart kills the process if there is one and starts a new one at once, not suspended and with the back-off as after a
// healthy run. It returns when the new process has been started, or with the reason why it was not; the child then
// retries. If ctx is done first, the restart may still happen.
func (c *Child) Restart(ctx context.Context) error { return c.restart(ctx, false) }

// Renew is Restart with a process that is ended as [Child.Stop] ends it: TERM,
// and KILL only after the Spec's StopGrace.
func (c *Child) Renew(ctx context.Context) error { return c.restart(ctx, true) }

func (c *Child) restart(ctx context.Context, gentle bool) error {
	ask := &restartRequest{done: make(chan error, 1), gentle: gentle}
	select {
	case c.asks <- ask:
	case <-c.done:
		return fmt.Errorf("%s: %w", c.spec.Name, ErrStopped)
	case <-ctx.Done():
		return fmt.Errorf("%s: restart: %w", c.spec.Name, ctx.Err())
	}
	select {
	case err := <-ask.done:
		return err
	case <-c.done:
		return fmt.Errorf("%s: %w", c.spec.Name, ErrStopped)
	case <-ctx.Done():
		return fmt.Errorf("%s: restart: %w", c.spec.Name, ctx.Err())
	}
}

// makeWay ends p for its successor; stuck as in end.
func (c *Child) makeWay(p *process, ask *restartRequest) (err error, stuck bool) { //nolint:revive // as in end
	if ask.gentle {
		return c.end(p)
	}
	p.ending.Store(true)
	err = c.kill(p)
	return err, err != nil
}

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
