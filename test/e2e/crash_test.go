package e2e

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Every child may die at any time: it is started again, and the cluster is what it was.
func TestKillChildren(t *testing.T) {
	t.Parallel()
	s := newHome(t).up("kill")
	before := s.Node("worker-west-1")
	for _, name := range []string{"node/worker-west-1", "ccm", "control-plane"} {
		t.Run(name, func(t *testing.T) {
			s.killComponent(name)
			s.Await("the API server answers", time.Minute, func() bool {
				return s.Try("--name", s.Name, "kubectl", "get", "--raw", "/readyz", "--request-timeout=5s").Out == "ok"
			})
			s.Await("all well", time.Minute, func() bool { return s.unwell(append(usNodes, euNodes...)) == "" })
		})
	}
	if after := s.Node("worker-west-1"); after.ProviderID != before.ProviderID || !after.Created.Equal(before.Created) {
		t.Errorf("the node is another after the crashes:\nbefore %+v\nafter  %+v", before, after)
	}
	if c := s.Component("control-plane"); c.Restarts != 1 {
		t.Errorf("control-plane was restarted %d times, want once", c.Restarts)
	}
}

// A sandbox that is killed leaves no process, and what it logged until "down".
func TestKillSandbox(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	s := h.up("victim")
	if err := syscall.Kill(s.Status().PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	h.awaitNoProcesses()
	r := h.Try("--name", "victim", "status")
	if r.Code != 3 || !strings.Contains(r.Err, `sandbox "victim" crashed`) {
		t.Errorf("status of a killed sandbox: exit status %d\n%s", r.Code, r.Both())
	}
	h.Must("--name", "victim", "logs", "sandbox")
	h.Must("--name", "victim", "down")
	h.nothingLeft()
	// And the name is free.
	h.up("victim", "single")
}

// Killed at a random moment of its boot, a sandbox leaves no process, and its name can be used at once.
func TestKillWhileBooting(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	for range short(2, 5) {
		after := time.Duration(rand.Int64N(int64(4 * time.Second)))
		c := h.Cmd("--name", "boot", "up")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(after) // a random moment is the point
		_ = c.Process.Kill()
		_ = c.Wait()
		t.Logf("killed %s after its start", after)
		h.awaitNoProcesses()
		h.Must("--name", "boot", "down")
		h.nothingLeft()
	}
	h.up("boot", "single")
}

// Any child may be killed during the boot: the boot continues.
func TestKillChildrenWhileBooting(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	victims := []string{" control-plane ", " node ", " builtin-ccm "}
	for _, victim := range victims[:short(1, len(victims))] {
		t.Run(strings.TrimSpace(victim), func(t *testing.T) {
			killed := make(chan string, 1)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				defer close(killed)
				for ctx.Err() == nil {
					for pid, line := range h.Processes() {
						if strings.Contains(line, victim) {
							time.Sleep(time.Duration(rand.Int64N(int64(3 * time.Second)))) // a random moment is the point
							if syscall.Kill(pid, syscall.SIGKILL) == nil {
								killed <- line
							}
							return
						}
					}
					time.Sleep(10 * time.Millisecond) // the start of another's process can't be waited for
				}
			}()
			r := h.Try("--name", "boot", "up", "--detach", "single")
			cancel()
			line, ok := <-killed
			if r.Code != 0 || !ok {
				t.Fatalf("exit status %d, killed %q\n%s", r.Code, line, r.Both())
			}
			s := h.attach("boot")
			s.Await("both nodes well", time.Minute, func() bool { return s.unwell([]string{"worker-1", "worker-2"}) == "" })
			h.Must("--name", "boot", "down")
		})
	}
}

// awaitNoProcesses waits for the death of every process of this home.
func (h *home) awaitNoProcesses() {
	h.T.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for len(h.Processes()) > 0 {
		if time.Now().After(deadline) {
			h.T.Fatalf("still alive: %v", h.Processes())
		}
		time.Sleep(20 * time.Millisecond) // the death of another's process can't be waited for
	}
}

// Ctrl-C at every step of the boot ends it at once and cleanly.
func TestInterruptAtEveryStep(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	steps := []string{
		"control plane", "API server", "nodes",
		"event log", "control API", "vCenters", "inventory watch", "node watch", "cloud config", "cloud controller manager",
	}
	for _, step := range steps[:short(3, len(steps))] {
		t.Run(strings.ReplaceAll(step, " ", "-"), func(t *testing.T) {
			c := h.Cmd("--name", "ctrlc", "up")
			w := &watcher{for_: "✓ " + step, seen: make(chan struct{})}
			c.Stderr = w
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			select {
			case <-w.seen:
			case <-time.After(time.Minute):
				t.Errorf("the step was not reached:\n%s", w.text())
			}
			if err := c.Process.Signal(os.Interrupt); err != nil {
				t.Error(err)
			}
			begin := time.Now()
			_ = c.Wait()
			if code := c.ProcessState.ExitCode(); code != 130 {
				t.Errorf("exit status %d, want 130\n%s", code, w.text())
			}
			t.Logf("ended %.2fs after Ctrl-C", time.Since(begin).Seconds())
			h.nothingLeft()
		})
	}
}

// watcher is a writer that notifies when a text has been written.
type watcher struct {
	for_ string
	seen chan struct{}

	mu   sync.Mutex
	buf  bytes.Buffer
	once sync.Once
}

func (w *watcher) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf.Write(p)
	if strings.Contains(w.buf.String(), w.for_) {
		w.once.Do(func() { close(w.seen) })
	}
	return len(p), nil
}

func (w *watcher) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

// In the foreground Ctrl-C is the way to end a sandbox that is up: that is no failure.
func TestInterruptWhenReady(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.Cmd("up", "single")
	w := &watcher{for_: "Ctrl-C stops it", seen: make(chan struct{})}
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, w
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-w.seen:
	case <-time.After(time.Minute):
		t.Errorf("not ready:\n%s", w.text())
	}
	_ = c.Process.Signal(os.Interrupt)
	_ = c.Wait()
	if code := c.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit status %d, want 0\n%s", code, w.text())
	}
	if !strings.HasPrefix(out.String(), "NAME") || !strings.Contains(out.String(), "worker-1 ") {
		t.Errorf("stdout is no node table:\n%s", out.String())
	}
	h.nothingLeft()
}

// Two sandboxes with different names work side by side; a second one of the same name is refused, with the way out.
func TestTwoSandboxes(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	one, two := h.up("one", "single"), h.up("two", "single")
	for _, s := range []*sandbox{one, two} {
		nodes, err := s.Client.Nodes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range nodes {
			if !well(n) {
				t.Errorf("sandbox %s: %+v", s.Name, n)
			}
		}
	}
	if a, b := one.Status(), two.Status(); a.Server == b.Server || a.VCenters[0].URL == b.VCenters[0].URL {
		t.Errorf("they share an address: %s %s, %s %s", a.Server, a.VCenters[0].URL, b.Server, b.VCenters[0].URL)
	}
	r := h.Try("--name", "one", "up", "single")
	if r.Code != 1 || !strings.Contains(r.Err, "already running") || !strings.Contains(r.Err, "try: ") {
		t.Errorf("a second sandbox of the same name: exit status %d\n%s", r.Code, r.Both())
	}
	if !strings.Contains(h.Must("list"), "two") {
		t.Error("list does not show both")
	}
	h.Must("--name", "one", "down")
	r = h.Try("--name", "one", "down")
	if r.Code != 0 || !strings.Contains(r.Err, "nothing to do") {
		t.Errorf("a second down: exit status %d\n%s", r.Code, r.Both())
	}
	if !well(two.Node("worker-1")) {
		t.Errorf("sandbox two suffered from the end of one: %+v", two.Node("worker-1"))
	}
}

// A state directory with a long path works: the sockets in it, whose paths the kernel limits, are made elsewhere.
func TestLongStatePath(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	deep := filepath.Join(h.State, strings.Repeat("deep-", 12), strings.Repeat("deeper-", 12))
	was := h.State
	h.State = deep
	s := h.up("long", "single")
	if !well(s.Node("worker-1")) {
		t.Errorf("%+v", s.Node("worker-1"))
	}
	h.Must("down", "--all")
	h.nothingLeft()
	h.State = was
	if err := os.RemoveAll(filepath.Join(was, strings.Repeat("deep-", 12))); err != nil {
		t.Fatal(err)
	}
}
