package tutorial

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// terminal1 is a real shell in a real home.
func terminal1(t *testing.T) (*home, Shell) {
	t.Helper()
	l := newLab(t)
	h, err := newHome(l.Runner)
	if err != nil {
		t.Fatal(err)
	}
	s, err := startShell(h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if left, err := h.remove(context.Background()); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
		l.clean(t)
	})
	return h, s
}

// A terminal is one shell: what a command does to it is there for the next one.
func TestShell(t *testing.T) {
	h, s := terminal1(t)
	for _, c := range []struct {
		command, out string
		exit         int
	}{
		{"echo hello", "hello\n", 0},
		{"printf unfinished", "unfinished", 0},
		{"true", "", 0},
		{"false", "", 1},
		{"exec_nothing_of_that_name 2>/dev/null", "", 127},
		{"echo one; echo two >&2; echo three", "one\ntwo\nthree\n", 0},
		{"printf '\\n\\nx\\n\\n'", "\n\nx\n\n", 0},
		{"alias say='echo said' && export A=b && cd / && x=y", "", 0},
		{"say $A $x $(pwd)", "said b y /\n", 0},
		{"cat", "", 0}, // does not read what follows
		{"cat <<'EOF'\n$A\n  }\nEOF", "$A\n  }\n", 0},
		{"echo a |\ncat", "a\n", 0},
		{"command -v vsphere-sandbox", filepath.Join(h.clone, "bin", program) + "\n", 0},
		{"echo $HOME $VSPHERE_SANDBOX_STATE", filepath.Join(h.dir, "home") + " " + h.state + "\n", 0},
		{"head -c 1000000 /dev/zero | tr '\\0' x", strings.Repeat("x", 1000000), 0},
		{"sleep 60 & echo in the background", "in the background\n", 0},
	} {
		var out bytes.Buffer
		exit, err := s.Run(t.Context(), c.command, &out)
		if err != nil {
			t.Fatalf("%s: %v", c.command, err)
		}
		if out.String() != c.out || exit != c.exit {
			t.Errorf("%s: status %d, want %d; output %.200q, want %.200q", c.command, exit, c.exit, out.String(), c.out)
		}
	}
}

// ^C ends the command, and not the shell.
func TestShellInterrupt(t *testing.T) {
	_, s := terminal1(t)
	for range 3 {
		begun := make(signal, 1)
		type result struct {
			exit int
			err  error
		}
		done := make(chan result)
		go func() {
			exit, err := s.Run(t.Context(), "sh -c 'echo begun; exec sleep 60'", begun)
			done <- result{exit, err}
		}()
		<-begun
		if err := s.Interrupt(); err != nil {
			t.Fatal(err)
		}
		if r := <-done; r.err != nil || r.exit != 130 {
			t.Errorf("status %d, %v", r.exit, r.err)
		}
	}
	var out bytes.Buffer
	if exit, err := s.Run(t.Context(), "echo alive", &out); err != nil || exit != 0 || out.String() != "alive\n" {
		t.Errorf("status %d, %v, %q", exit, err, out.String())
	}
}

// signal reports the first write.
type signal chan struct{}

func (s signal) Write(p []byte) (int, error) {
	select {
	case s <- struct{}{}:
	default:
	}
	return len(p), nil
}

func TestShellEnds(t *testing.T) {
	t.Run("by itself", func(t *testing.T) {
		_, s := terminal1(t)
		if _, err := s.Run(t.Context(), "exit 3", new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), `sh ended while it ran "exit 3"`) {
			t.Error(err)
		}
	})
	t.Run("with the context", func(t *testing.T) {
		_, s := terminal1(t)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if _, err := s.Run(ctx, "sleep 60", new(bytes.Buffer)); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

// TestLeftProcess: a program that a page leaves running is found, reported and ended, even outside of the shell's process group.
func TestLeftProcess(t *testing.T) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("this system does not tell of processes")
	}
	l := newLab(t)
	l.Terminals = nil
	err := l.Run(t.Context(), page(t, open+"$ { setsid sh -c 'echo here; exec sleep 60 >/dev/null 2>&1' & } | head -n 1\nhere\n"+end))
	if err == nil || !strings.Contains(err.Error(), "leaves behind: process") || !strings.Contains(err.Error(), "sleep 60") {
		t.Error(err)
	}
	l.clean(t)
}
