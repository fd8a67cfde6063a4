package tutorials

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/mutants"
)

// Reading 08-developing-the-cpi, a user with the sources and a Go toolchain does with builds of the provider what the
// page does with a script: break it, see a scenario fail, rebuild it under the sandbox, and see that pass.
func TestRealBuilds(t *testing.T) {
	root := sources(t)
	broken := pagesChange(t, root)
	builds := t.TempDir()
	program := build(t, broken, root, builds)

	s := sandbox{t: t, state: shortDir(t)}
	t.Cleanup(func() { s.down() })
	s.run(0, "up", "--detach", "--ccm-watch", program)
	if said := s.run(3, "scenario", "run", "power-off", "--on", "default", "--patience", "0.3"); !strings.Contains(said, "shutdown") {
		t.Errorf("the scenario fails of something else:\n%s", said)
	}
	build(t, mutants.Mutant{}, root, builds)
	s.await("ccm.swapped")
	s.run(0, "scenario", "run", "power-off", "--on", "default")
}

// sources is the folder of the provider's sources, for who can build them.
func sources(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the provider; left out by -short, make tutorials runs it")
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skipf("the provider is built by the Go toolchain: %v", err)
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// pagesChange returns the change that the page describes, which has to be one of the mutants.
func pagesChange(t *testing.T, root string) mutants.Mutant {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "tutorials", "08-developing-the-cpi", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	all := mutants.All()
	i := slices.IndexFunc(all, func(m mutants.Mutant) bool { return m.Name == "shutdown-needs-guest" })
	if i < 0 {
		t.Fatal("the mutant is gone that the page is about")
	}
	for _, want := range []string{all[i].File, strings.TrimSpace(all[i].Old)} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page does not tell of %q", want)
		}
	}
	return all[i]
}

func build(t *testing.T, m mutants.Mutant, root, dir string) string {
	t.Helper()
	program, err := m.Build(until(t), root, dir)
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// shortDir is a directory in whose paths sockets fit.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "vsb-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// sandbox runs commands with a separate state, as the current user: other users cannot read Go's module cache.
type sandbox struct {
	t     *testing.T
	state string
}

// run runs the program, which has to end with this status, and returns what it prints.
func (s sandbox) run(exit int, args ...string) string {
	s.t.Helper()
	said, got := s.try(until(s.t), args...)
	s.t.Logf("$ vsphere-sandbox %s\n%s", strings.Join(args, " "), said)
	if got != exit {
		s.t.Fatalf("vsphere-sandbox %s: exit status %d, want %d\n%s", strings.Join(args, " "), got, exit, said)
	}
	return said
}

func (s sandbox) try(ctx context.Context, args ...string) (said string, exit int) {
	s.t.Helper()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = append(os.Environ(), "VSPHERE_SANDBOX_STATE="+s.state)
	out, err := cmd.CombinedOutput()
	if ended := (*exec.ExitError)(nil); err != nil && !errors.As(err, &ended) {
		s.t.Fatalf("vsphere-sandbox %s: %v", strings.Join(args, " "), err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// await returns when the sandbox has published an event of this kind.
func (s sandbox) await(kind string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(until(s.t), time.Minute)
	defer cancel()
	again := time.NewTicker(300 * time.Millisecond)
	defer again.Stop()
	for {
		said, _ := s.try(ctx, "events", "--no-headers", "--kind", kind)
		if strings.Contains(said, kind) {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			s.t.Fatalf("no event %s within a minute", kind)
		}
	}
}

func (s sandbox) down() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if said, exit := s.try(ctx, "down", "--all"); exit != 0 {
		s.t.Errorf("down: %s", said)
	}
}
