package child

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
)

// ErrStopped is returned for what cannot be done to a child that is stopped.
var ErrStopped = errors.New("child is stopped")

// ErrNotRunning is returned for what needs a process that there is not: it is
// waiting to be started again.
var ErrNotRunning = errors.New("no process is running")

// Child is one supervised process. It is made by [Start]; its methods may be
// called from any goroutine, except that a notify function must not call those
// that wait: Stop, Kill, Restart, Renew and Crash.
type Child struct {
	spec   Spec
	notify func(Change)
	first  bool // no process has been started yet; supervisor only

	asks     chan *restartRequest // Restart, Renew → supervisor
	stopping chan struct{}        // closed by the first Stop or Kill
	killing  chan struct{}        // closed to end the grace period
	done     chan struct{}        // closed when the supervisor has ended
	stopOnce sync.Once
	killOnce sync.Once
	stopErr  error // valid once done is closed

	mu        sync.Mutex
	state     State
	process   *process // the running one, or nil
	restarts  int
	suspended bool // wanted by Suspend, also for processes still to be started
}

// Start begins to run and watch the child of spec and returns at once; a
// failure to start it is a Change like any other, and is tried again.
//
// Notify, when not nil, is called with every Change, in order, from the
// goroutine that supervises the child: while it runs the child is not watched,
// so it should be quick. It is not called any more once Stop, Kill or a receive
// from Done has returned. The caller ends the child with Stop or Kill.
func Start(spec Spec, notify func(Change)) *Child {
	c := &Child{
		spec:     spec.withDefaults(),
		notify:   notify,
		first:    true,
		asks:     make(chan *restartRequest),
		stopping: make(chan struct{}),
		killing:  make(chan struct{}),
		done:     make(chan struct{}),
		state:    Starting,
	}
	spawn.acquire()
	go c.supervise()
	return c
}

// Name returns the name of the child's Spec.
func (c *Child) Name() string { return c.spec.Name }

// PID returns the id of the running process, or 0.
func (c *Child) PID() int {
	c.mu.Lock()
	p := c.process
	c.mu.Unlock()
	if p == nil {
		return 0
	}
	return p.livePID()
}

// Ending says that the running process is being ended as it was asked for, by
// Stop, Kill, Restart or Renew: what it does not answer any more is no fault.
func (c *Child) Ending() bool {
	c.mu.Lock()
	p := c.process
	c.mu.Unlock()
	return p != nil && p.ending.Load()
}

// State returns the state the child entered last.
func (c *Child) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// Restarts returns how many processes were started after the first one.
func (c *Child) Restarts() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.restarts
}

// Done returns a channel that is closed when the child is stopped and its last Change was reported: after Stop or Kill,
// or when a Once child ended.
func (c *Child) Done() <-chan struct{} { return c.done }

// emit enters the state of change and reports it.
func (c *Child) emit(change Change) {
	change.Name = c.spec.Name
	c.mu.Lock()
	c.state = change.State
	c.mu.Unlock()
	if c.notify != nil {
		c.notify(change)
	}
}

// StopAll stops children at once, and returns when all have ended. Children that are nil were not started.
func StopAll(ctx context.Context, all ...*Child) error {
	var wg sync.WaitGroup
	errs := make([]error, len(all))
	for i, c := range all {
		if c != nil {
			wg.Go(func() { errs[i] = c.Stop(ctx) })
		}
	}
	wg.Wait()
	return errors.Join(errs...)
}

const (
	defaultStopGrace = 5 * time.Second
	defaultLogLimit  = 8 << 20
)

// Spec says how a child is run. Only Name is required. A Spec is copied by
// [Start]; later changes to it have no effect.
type Spec struct {
	// Name is the component's name, "control-plane" or "node/worker-1". It
	// begins every error about the child.
	Name string

	// Path is the executable file, with a directory. Empty means this very
	// program, even when its file has been replaced or deleted since it was
	// started.
	Path string

	// Args are the arguments after the program's name.
	Args []string

	// Env is the complete environment; nil means that of this process.
	// [LifelineEnv] is added to it.
	Env []string

	// Dir is the working directory; empty means that of this process.
	Dir string

	// Files become file descriptors 3, 4, … of every process that is started.
	// The caller keeps them, and keeps them open until [Child.Done].
	Files []*os.File

	// LogPath is the file to which the kernel itself appends standard output
	// and standard error (mode 0600, missing directories are made with 0700).
	// Empty means that both are thrown away.
	LogPath string

	// LogLimit is the size in bytes from which the log is moved to LogPath+".1"
	// before a start, replacing what was there. 0 means 8 MiB.
	LogLimit int64

	// StopGrace is the time between TERM and KILL. 0 means 5 s.
	StopGrace time.Duration

	// Backoff spaces the restarts.
	Backoff Backoff

	// Once disables restarts.
	Once bool

	// Mounts gives every process that is started its own mount namespace, in which it may mount. Linux only. A user needs the
	// right to make user namespaces.
	Mounts bool
}

func (s Spec) withDefaults() Spec {
	if s.StopGrace <= 0 {
		s.StopGrace = defaultStopGrace
	}
	if s.LogLimit <= 0 {
		s.LogLimit = defaultLogLimit
	}
	s.Backoff = s.Backoff.withDefaults()
	return s
}

// ReadConfig reads a file that [WriteConfig] wrote.
func ReadConfig[T any](path string) (T, error) {
	var c T
	b, err := os.ReadFile(path)
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// WriteConfig stores the configuration of a child as JSON, readable by its owner only.
func WriteConfig(path string, config any) error {
	b, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(path, b, 0o600)
}

// State is where a child is in its life; see the diagram in the package
// comment.
type State string

// The states of a child.
const (
	// Starting: Start was called and nothing has been started yet. It never comes as a Change.
	Starting State = "starting"
	// Started: the process is running, or suspended.
	Started State = "started"
	// Exited: the process ended on its own, or could not be started.
	Exited State = "exited"
	// Restarting: a new process will be started after Change.Backoff.
	Restarting State = "restarting"
	// Stopped: there is no process and there will not be one again.
	Stopped State = "stopped"
)

// Change reports that a child has entered a state.
type Change struct {
	// Name is the Spec's.
	Name string
	// State is the state entered.
	State State
	// PID is the process it is about: the new one for Started, the one that
	// ended otherwise; 0 when there was none.
	PID int
	// Err says why, beginning with the name. Exited: how the process ended, an
	// *exec.ExitError inside, nil for exit status 0; or why it could not be
	// started. Stopped: that the process had to be killed because TERM did not
	// end it, or could not be ended.
	Err error
	// Tail is the end of the log of a process that exited on its own, at most 20 lines and 4 kB.
	Tail []string
	// Backoff is the pause before the start that Restarting announces.
	Backoff time.Duration
}

const (
	tailLines = 20
	tailBytes = 4 << 10
)

// openLog opens path for appending and returns its size. It makes the directory
// of the log, and not the one above: that may be one that was removed on
// purpose. A log of limit bytes or more is moved out of the way first. Two processes may have it open at once
// for a moment, which O_APPEND makes harmless.
func openLog(path string, limit int64) (*os.File, int64, error) {
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, 0, err
	}
	if info, err := os.Stat(path); err == nil && info.Size() >= limit {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, 0, err
		}
	}
	log, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, 0, err
	}
	info, err := log.Stat()
	if err != nil {
		_ = log.Close()
		return nil, 0, err
	}
	return log, info.Size(), nil
}

// readTail returns the last lines of a log that were written after from. It only explains an exit, so an error yields no
// lines.
func readTail(path string, from int64) []string {
	log, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer log.Close()
	info, err := log.Stat()
	if err != nil {
		return nil
	}
	start := max(from, info.Size()-tailBytes)
	text, err := io.ReadAll(io.NewSectionReader(log, start, tailBytes))
	if err != nil {
		return nil
	}
	if start > from { // the cut has probably gone through a line: leave it out
		if _, rest, found := bytes.Cut(text, []byte("\n")); found && len(rest) > 0 {
			text = rest
		}
	}
	trimmed := strings.TrimRight(strings.ToValidUTF8(string(text), "?"), "\r\n")
	if trimmed == "" {
		return nil
	}
	lines := strings.Split(trimmed, "\n")
	lines = lines[max(0, len(lines)-tailLines):]
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, "\r")
	}
	return lines
}

// ExitText says why a child is gone: how it exited, and what its log says of that.
func ExitText(ch Change, log string) string {
	text := ch.Name + ": exited"
	if ch.Err != nil {
		text = ch.Err.Error()
	}
	if ch.PID == 0 || signaled(ch.Err) || len(ch.Tail) == 0 {
		return text // it had no time for last words, or none: the log is that of runs before it
	}
	if why := LastWords(LogTail(log, 0)); why != "" {
		text += ": " + why
	}
	return text
}

// signaled reports whether a process was killed rather than that it ended.
func signaled(err error) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled()
}

// LastWords finds the last words of a program in the end of its log: what it panicked with, or its last line. Advice of this
// project's programs ("try: …") follows the error and is not meant. A zap logger that panics (etcd's) writes the error on the line
// before.
func LastWords(log string) string {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	for i, line := range slices.Backward(lines) {
		for _, prefix := range []string{"panic: ", "fatal error: "} {
			words, ok := strings.CutPrefix(line, prefix)
			if !ok {
				continue
			}
			var entry struct{ Level, Msg, Error string }
			if i > 0 && json.Unmarshal([]byte(lines[i-1]), &entry) == nil && entry.Error != "" {
				return entry.Msg + ": " + entry.Error
			}
			return words
		}
	}
	last := len(lines) - 1
	for last > 0 && strings.HasPrefix(strings.TrimSpace(lines[last]), "try: ") {
		last--
	}
	return strings.TrimSpace(lines[last])
}

// exhausted are the errors of a system call that found a limit of the machine used up.
func exhausted() []string {
	return []string{syscall.EMFILE.Error(), syscall.ENFILE.Error(), syscall.ENOSPC.Error(), syscall.ENOMEM.Error()}
}

// errorMarks are how an error begins in the log lines of slog, zap and logrus; klog's is in [isError].
func errorMarks() []string {
	return []string{"level=ERROR", "level=error", `"level":"error"`, `"level":"fatal"`}
}

// LastError returns the line of a log that most likely says why a running program does not do its work, "" when the log has no
// error: the first line that reports a used-up limit of the machine, of which later errors are consequences, or the last line of
// an error.
func LastError(log string) string {
	last := ""
	for line := range strings.Lines(log) {
		if !isError(line) {
			continue
		}
		last = strings.TrimSpace(line)
		if slices.ContainsFunc(exhausted(), func(text string) bool { return strings.Contains(line, text) }) {
			return last
		}
	}
	return last
}

// isError reports whether a line of a log is an error's: klog begins it with E or F and the date, as "E1126".
func isError(line string) bool {
	if len(line) > 5 && (line[0] == 'E' || line[0] == 'F') && strings.Trim(line[1:5], "0123456789") == "" && line[5] == ' ' {
		return true
	}
	return slices.ContainsFunc(errorMarks(), func(mark string) bool { return strings.Contains(line, mark) })
}

// logTailBytes is how much of a log is read: more than the stacks of all goroutines of a panic take.
const logTailBytes = 256 << 10

// LogTail returns the end of a file, of what comes after so many bytes, "" when it cannot be read. In a file that has become
// shorter all is new.
func LogTail(path string, from int64) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil {
		if info.Size() < from {
			from = 0
		}
		if _, err := f.Seek(max(from, info.Size()-logTailBytes), io.SeekStart); err != nil {
			return ""
		}
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return ""
	}
	return string(b)
}
