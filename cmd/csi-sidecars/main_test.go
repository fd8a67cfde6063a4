package main

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// asProgram makes the test binary the program: feature gates, metrics and logging are process-wide, so each sidecar of a test needs a
// process.
const asProgram = "CSI_SIDECARS_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// process is a running sidecar.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended

	mu    sync.Mutex
	said  bytes.Buffer
	heard chan struct{} // has a token after new output
}

// start starts the program. It is killed at the end of the test.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(os.Args[0], args...), done: make(chan struct{}), heard: make(chan struct{}, 1)}
	p.cmd.Env = append(os.Environ(), asProgram+"=1", "POD_NAMESPACE=csi", "NAMESPACE=csi")
	out, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stdout = p.cmd.Stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.mu.Lock()
			p.said.WriteString(lines.Text() + "\n")
			p.mu.Unlock()
			select {
			case p.heard <- struct{}{}:
			default:
			}
		}
		_ = p.cmd.Wait() // its state says all
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // most have ended
		<-p.done
	})
	return p
}

func (p *process) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.String()
}

// says waits for output of the program.
func (p *process) says(text string) {
	p.t.Helper()
	for late := time.After(patience); !strings.Contains(p.output(), text); {
		select {
		case <-p.heard:
		case <-p.done:
			if !strings.Contains(p.output(), text) {
				p.t.Fatalf("%v ended without saying %q:\n%s", p.cmd.Args[1:], text, p.output())
			}
		case <-late:
			p.t.Fatalf("%v does not say %q:\n%s", p.cmd.Args[1:], text, p.output())
		}
	}
}

// term sends SIGTERM.
func (p *process) term() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Fatal(err)
	}
}

// ends waits for the end with this exit code.
func (p *process) ends(code int) {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		p.t.Fatalf("%v does not end:\n%s", p.cmd.Args[1:], p.output())
	}
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		p.t.Fatalf("%v ended with %v, not %d:\n%s", p.cmd.Args[1:], p.cmd.ProcessState, code, p.output())
	}
}

// patience is a timeout for busy machines.
const patience = 30 * time.Second
