package instance_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
)

// names returns the sorted names of processes.
func names(processes []instance.Process) []string {
	var all []string
	for _, p := range processes {
		all = append(all, p.Name)
	}
	slices.Sort(all)
	return all
}

func TestReapAfterKill(t *testing.T) {
	root := t.TempDir()
	s := startSandbox(t, root)
	if _, err := instance.Reap(t.Context(), root, "demo"); !errors.As(err, new(instance.ErrRunning)) {
		t.Errorf("reap of a running sandbox: %v", err)
	}
	if entries, err := instance.List(root); err != nil || len(entries) != 1 || !entries[0].Running || entries[0].PID != s.Process.Pid {
		t.Errorf("list while it runs: %+v, %v", entries, err)
	}
	s.kill()
	// Its children live on, without the lock.
	if entries, err := instance.List(root); err != nil || len(entries) != 1 || entries[0].Running || entries[0].Record.Topology != "single" {
		t.Errorf("list after the kill: %+v, %v", entries, err)
	}
	report, err := instance.Reap(t.Context(), root, "demo")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"by-arg", "by-env", "leader"}, names(report.Killed)); diff != "" || len(report.Unproven) > 0 || !report.Removed {
		t.Errorf("report: %+v", report)
	}
	s.requireGone()
	requireEmpty(t, root)
	if _, err := instance.Reap(t.Context(), root, "demo"); !errors.As(err, new(instance.ErrNotFound)) {
		t.Errorf("second reap: %v", err)
	}
}

func TestCreateAfterKill(t *testing.T) {
	root := t.TempDir()
	s := startSandbox(t, root)
	s.kill()
	d := create(t, root, "demo")
	s.requireGone()
	left := d.Predecessor()
	if diff := cmp.Diff([]string{"by-arg", "by-env", "leader"}, names(left.Killed)); diff != "" || !left.Removed || left.Name != "demo" {
		t.Errorf("predecessor: %+v", left)
	}
	if _, err := d.ReadRecord(); err == nil {
		t.Error("the old record is still there")
	}
}

func TestConcurrentReap(t *testing.T) {
	root := t.TempDir()
	s := startSandbox(t, root)
	s.kill()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, err := instance.ReapAll(t.Context(), root); err != nil {
				t.Error(err)
			}
		})
	}
	create(t, root, "demo") // waits for those who clean up, or does it itself
	all.Wait()
	s.requireGone()
	if entries, err := instance.List(root); err != nil || len(entries) != 1 || !entries[0].Running {
		t.Errorf("list: %+v, %v", entries, err)
	}
}

// Pids in the journal that are other processes' by now.
func TestStrangersAreSpared(t *testing.T) {
	root := t.TempDir()
	d := create(t, root, "demo")
	tests := []struct {
		name string
		args []string
		line string // of the journal, about %d
	}{
		{name: "names nothing", line: `{"name":"x","pid":%d}`},
		{name: "names a neighbor", args: []string{d.Path() + "-2", d.Path() + "2"}, line: `{"name":"x","pid":%d}`},
		{name: "names it but is younger", args: []string{d.Path()}, line: `{"name":"x","pid":%d,"start":"1"}`},
		{
			name: "names it but has been taken off", args: []string{d.Path()},
			line: `{"name":"x","pid":%[1]d}` + "\n" + `{"name":"x","pid":%[1]d,"exited":true}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := create(t, root, "demo-case")
			stranger := spawn("child", true, nil, tt.args...)
			if err := stranger.Start(); err != nil {
				t.Fatal(err)
			}
			line := fmt.Sprintf(tt.line, stranger.Process.Pid) + "\n"
			if err := os.WriteFile(d.Path("children.journal"), []byte(line), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			report, err := instance.Reap(t.Context(), root, "demo-case")
			if err != nil || len(report.Killed) > 0 {
				t.Errorf("reap: %+v, %v", report, err)
			}
			if err := stranger.Process.Signal(os.Kill); err != nil {
				t.Errorf("the stranger is gone: %v", err)
			}
			_ = stranger.Wait()
			if got := stranger.ProcessState.String(); got != "signal: killed" {
				t.Errorf("the stranger: %s", got)
			}
		})
	}
}
