package tutorial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// Shell is a terminal: it runs one command after the other and keeps directory, variables and aliases between them.
type Shell interface {
	// Run runs a command to its end, and writes what it prints to out meanwhile. An error says that the shell itself is
	// gone or, when ctx ends, has been ended.
	Run(ctx context.Context, command string, out io.Writer) (exit int, err error)
	// Interrupt does what ^C does to the program that runs. It may be called during Run.
	Interrupt() error
	// Close ends the shell and what runs in it, and waits for the shell.
	Close() error
}

// sh is the shell of the system, fed through a pipe.
type sh struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	chunks chan []byte   // what is printed
	ended  chan struct{} // closed when the shell has ended
	turn   int

	closing sync.Once
	closed  error
}

// mark begins the line that follows each command; nothing that people run prints it.
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
	// A shell that catches the signal outlives it, and its children do not inherit that.
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
	// The shell reads its own commands from standard input; nothing else may.
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

// Close may be called again: the number of an ended process may be another's by then.
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
