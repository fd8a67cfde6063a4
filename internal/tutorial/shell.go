package tutorial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
)

// Shell is a terminal: it runs one command after the other, and keeps directory, variables and aliases.
type Shell interface {
	// Run runs a command to its end, and copies its output to out as it comes. An error means that the shell has ended, either alone
	// or because ctx ended.
	Run(ctx context.Context, command string, out io.Writer) (exit int, err error)
	// Interrupt sends ^C to the running program. It may be called during Run.
	Interrupt() error
	// Close ends the shell and its programs, and waits for the shell.
	Close() error
}

// sh is the system's shell, with a pipe for input.
type sh struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	chunks chan []byte   // what is printed
	ended  chan struct{} // closed when the shell has ended
	turn   int

	closing sync.Once
	closed  error
}

// mark is a unique line after each command.
const mark = "\n\x01"

func startShell(h *home) (Shell, error) {
	cmd := exec.Command("/bin/sh") //nolint:noctx // the session ends it
	cmd.Dir, cmd.Env = h.clone, h.environ()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: h.as}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	from, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = to, to
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("sh: %w", err), from.Close(), to.Close())
	}
	s := &sh{cmd: cmd, in: in, chunks: make(chan []byte), ended: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // how it ended says the mark, or nothing
		close(s.ended)
		_ = to.Close()
		_ = from.Close() // what it left running may hold the other end for long
	}()
	go s.read(from)
	// A shell that traps the signal survives it, and its children do not inherit the trap.
	if _, err := io.WriteString(in, "trap : INT\n"); err != nil {
		return nil, errors.Join(fmt.Errorf("sh: %w", err), s.Close())
	}
	return s, nil
}

func (s *sh) read(from io.Reader) {
	defer close(s.chunks)
	for {
		chunk := make([]byte, 32<<10)
		n, err := from.Read(chunk)
		if n > 0 {
			select {
			case s.chunks <- chunk[:n]:
			case <-s.ended:
			}
		}
		if err != nil {
			return
		}
	}
}

func (s *sh) Run(ctx context.Context, command string, out io.Writer) (int, error) {
	s.turn++
	end := fmt.Appendf(nil, "%s%d ", mark, s.turn)
	// The shell reads its commands from standard input, so programs must not.
	script := fmt.Sprintf("{ %s\n} </dev/null\nprintf '\\n\\001%d %%d\\n' $?\n", command, s.turn)
	if _, err := io.WriteString(s.in, script); err != nil {
		return 0, fmt.Errorf("sh: %w", err)
	}
	var held []byte // what may be the beginning of the mark
	for {
		select {
		case chunk, ok := <-s.chunks:
			if !ok {
				return 0, fmt.Errorf("sh ended while it ran %q", command)
			}
			held = append(held, chunk...)
			if before, after, found := bytes.Cut(held, end); found {
				status, _, whole := bytes.Cut(after, []byte("\n"))
				if !whole {
					continue
				}
				exit := 0
				if _, err := fmt.Sscanf(string(status), "%d", &exit); err != nil {
					return 0, fmt.Errorf("sh: exit status %q: %w", status, err)
				}
				_, err := out.Write(before)
				return exit, err
			}
			sure := len(held)
			if i := bytes.LastIndexByte(held, '\n'); i >= 0 {
				sure = i
			}
			if _, err := out.Write(held[:sure]); err != nil {
				return 0, err
			}
			held = held[sure:]
		case <-s.ended:
			return 0, fmt.Errorf("sh ended while it ran %q", command)
		case <-ctx.Done():
			return 0, errors.Join(ctx.Err(), s.Close())
		}
	}
}

func (s *sh) Interrupt() error { return syscall.Kill(-s.cmd.Process.Pid, syscall.SIGINT) }

// Close may be called again, when the process ID may belong to another process.
func (s *sh) Close() error {
	s.closing.Do(func() {
		s.closed = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
		if errors.Is(s.closed, syscall.ESRCH) {
			s.closed = nil // all of them have ended
		}
		<-s.ended
	})
	return s.closed
}

// terminal is a shell with its program. One goroutine calls start, interrupt and close.
type terminal struct {
	shell  Shell
	busy   *Command // what runs
	cancel context.CancelFunc
	joined chan struct{} // closed when the goroutine that waits for the command has ended

	mu      sync.Mutex
	output  strings.Builder
	live    io.Writer // gets all output as it comes; may be nil
	done    *ended
	changed chan struct{} // closed and replaced at every change
}

// ended is the result of a command.
type ended struct {
	exit int
	err  error
}

// Write adds output of the command.
func (t *terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.output.Write(p)
	t.notify()
	if t.live != nil {
		return t.live.Write(p)
	}
	return len(p), nil
}

// show copies output from now on to live, which may be nil.
func (t *terminal) show(live io.Writer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.live = live
}

func (t *terminal) notify() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// start runs a command, beyond ctx if it takes that long; look reports its state.
func (t *terminal) start(ctx context.Context, c *Command) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	t.busy, t.cancel, t.joined = c, cancel, make(chan struct{})
	t.mu.Lock()
	t.output.Reset()
	t.done, t.changed = nil, make(chan struct{})
	t.mu.Unlock()
	go func(joined chan struct{}) {
		defer close(joined)
		defer cancel()
		exit, err := t.shell.Run(ctx, c.Text, t)
		t.mu.Lock()
		defer t.mu.Unlock()
		t.done = &ended{exit, err}
		t.notify()
	}(t.joined)
}

// look returns the output since the command or the interrupt; the result, or nil while it runs; and a channel that is closed on a
// change.
func (t *terminal) look() (output string, done *ended, changed <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.output.String(), t.done, t.changed
}

func (t *terminal) interrupt() error {
	t.mu.Lock()
	t.output.Reset()
	t.mu.Unlock()
	return t.shell.Interrupt()
}

// over reports whether the command has ended.
func (t *terminal) over() bool {
	select {
	case <-t.joined:
		return true
	default:
		return false
	}
}

// close ends the shell and its programs.
func (t *terminal) close() error {
	if t.cancel != nil {
		t.cancel()
		<-t.joined
	}
	return t.shell.Close()
}
