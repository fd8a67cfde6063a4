package real

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// sandbox is a sandbox whose inventory is a stand-in.
type sandbox struct {
	*program.Sandbox
	home *home
	// process is that of one in the foreground.
	process *process
}

// up boots one that is detached.
func (h *home) up(name string, args ...string) *sandbox {
	h.T.Helper()
	h.Must(append([]string{"--name", name, "up", "--detach", "--csi", "off"}, args...)...)
	return &sandbox{Sandbox: h.Attach(name), home: h}
}

// foreground boots one in a process of the test's, and waits until it is ready.
func (h *home) foreground(name string, args ...string) *sandbox {
	h.T.Helper()
	p := start(h.T, h.Cmd(append([]string{"--name", name, "up", "--csi", "off"}, args...)...))
	ready := func() bool { return h.Try("--name", name, "wait", "--for=ready", "--timeout", "30s").Code == 0 }
	if !eventually(time.Minute, func() bool { return p.ended() || ready() }) || p.ended() {
		h.T.Fatalf("it does not come up:\n%s", p.said())
	}
	h.T.Cleanup(func() {
		if h.T.Failed() {
			h.T.Logf("what %s said:\n%s", name, p.said())
		}
	})
	return &sandbox{Sandbox: h.Attach(name), home: h, process: p}
}

// run runs a command about this sandbox.
func (s *sandbox) run(args ...string) program.Result {
	s.home.T.Helper()
	return s.home.Try(append([]string{"--name", s.Name}, args...)...)
}

// process is a program that runs beside the test.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}

	mu  sync.Mutex
	out bytes.Buffer
}

func start(t *testing.T, c *exec.Cmd) *process {
	t.Helper()
	p := &process{cmd: c, done: make(chan struct{})}
	c.Stdout, c.Stderr = p, p
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = c.Wait() // its state is looked at
		close(p.done)
	}()
	t.Cleanup(func() {
		if !p.ended() {
			_ = c.Process.Kill()
			<-p.done
		}
	})
	return p
}

// Write keeps what the process says.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

func (p *process) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// end signals it, and waits for its end, whose exit status it returns.
func (p *process) end(t *testing.T, signal os.Signal, within time.Duration) int {
	t.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		t.Fatalf("it does not end within %s of %v:\n%s", within, signal, p.said())
	}
	return p.cmd.ProcessState.ExitCode()
}

const shutdown = "node.cloudprovider.kubernetes.io/shutdown"

// well reports whether a node is ready, initialized and without the shutdown taint.
func well(n api.Node) bool { return n.Initialized && n.Ready == "True" && !tainted(n) }

// tainted reports whether a node has the shutdown taint.
func tainted(n api.Node) bool {
	for _, t := range n.Taints {
		if strings.HasPrefix(t, shutdown) {
			return true
		}
	}
	return false
}
