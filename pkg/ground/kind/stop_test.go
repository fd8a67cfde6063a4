package kind

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/guest/loop"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
)

// daemon is a container runtime that has nothing, or does not answer.
type daemon struct {
	mu    sync.Mutex
	dead  bool
	calls []string
}

func (d *daemon) Run(ctx context.Context, c runtime.Call) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = append(d.calls, strings.Join(c.Args, " "))
	if d.dead {
		fmt.Fprintln(c.Stderr, "Cannot connect to the Docker daemon")
		return &runtime.ExitError{Status: 1}
	}
	return nil
}

// called reports whether a call began so.
func (d *daemon) called(begin string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(d.calls, func(c string) bool { return strings.HasPrefix(c, begin) })
}

// onKind returns a sandbox whose cluster is one of kind's, half made, in that runtime.
func onKind(t *testing.T, d *daemon) (*Ground, *fakeHost) {
	t.Helper()
	k, h := idle(t)
	k.rt = runtime.With("docker", d)
	var err error
	k.cluster, err = kind.New(kind.Options{
		Name: k.Name, Dir: k.Dir, Nodes: nodesOf(k.Topology), Image: "example.org/node:v1", Speed: k.Speed, Runtime: k.rt,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := k.note("node:1"); err != nil {
		t.Fatal(err)
	}
	return k, h
}

// noted reports whether the directory has a note of containers.
func (k *Ground) noted(t *testing.T) bool {
	t.Helper()
	with, err := Runtime(k.Dir)
	if err != nil {
		t.Fatal(err)
	}
	return with != nil
}

// What could not be removed is reported as left, and noted until it is.
func TestKindStop(t *testing.T) {
	d := &daemon{dead: true}
	k, _ := onKind(t, d)
	if err := k.stop(t.Context()); !errors.As(err, new(*ground.LeftError)) || !coded.Is(err, runtime.Stopped) {
		t.Errorf("of a runtime that does not answer: %v", err)
	}
	if !k.noted(t) {
		t.Error("what is left is forgotten")
	}
	d.dead = false
	if err := k.stop(t.Context()); err != nil {
		t.Error(err)
	}
	if k.noted(t) {
		t.Error("it is noted still")
	}
}

// A boot that does not give up leaves the removal all of its time.
func TestKindStopOfABootThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &daemon{}
		k, h := onKind(t, d)
		hangs := make(chan struct{})
		h.Go(bootGroup, func(context.Context) { <-hangs })
		if err := k.stop(t.Context()); !errors.As(err, new(*ground.LeftError)) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("stop: %v", err)
		}
		if !d.called("ps --all") {
			t.Error("the containers were not asked for")
		}
		close(hangs)
	})
}

// Nodes are kept when that was asked for and the sandbox did not come up; otherwise they go.
func TestKindIsKept(t *testing.T) {
	for _, tc := range []struct {
		name                string
		retain, ready, kept bool
	}{
		{"asked for", true, false, true},
		{"it was up", true, true, false},
		{"not asked for", false, false, false},
	} {
		d := &daemon{}
		k, h := onKind(t, d)
		k.Retain, h.failed = tc.retain, !tc.ready
		if err := k.stop(t.Context()); err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		if got := k.noted(t); got != tc.kept || d.called("ps --all") == tc.kept {
			t.Errorf("%s: noted %t, calls %q", tc.name, got, d.calls)
		}
	}
}

// A device that its machine has not given back in time is given back when the containers are gone.
func TestKindStopGivesDevicesBack(t *testing.T) {
	k, _ := onKind(t, &daemon{})
	if err := loop.Probe(k.Dir); err != nil {
		t.Skip(err)
	}
	file := filepath.Join(k.Dir, "block")
	if err := os.WriteFile(file, make([]byte, 64<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := loop.Attach(file, false); err != nil {
		t.Fatal(err)
	}
	if err := k.stop(t.Context()); err != nil {
		t.Error(err)
	}
	if left, err := loop.ByFile(file); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// The note says which daemon has the containers.
func TestKindNote(t *testing.T) {
	for _, tc := range []struct {
		name string
		with *runtime.Runtime
		want string
	}{
		{"a daemon", runtime.At("docker", "unix:///run/first.sock"), "unix:///run/first.sock"},
		{"the default one", runtime.At("podman", ""), ""},
	} {
		k, _ := idle(t)
		k.rt = tc.with
		if err := k.note("node:1"); err != nil {
			t.Fatal(err)
		}
		got, err := Runtime(k.Dir)
		if err != nil || got == nil || got.Name() != tc.with.Name() {
			t.Errorf("%s: %v, %v", tc.name, got, err)
			continue
		}
		if at, fixed := got.Endpoint(); at != tc.want || !fixed {
			t.Errorf("%s: at %q, %t", tc.name, at, fixed)
		}
	}
}

// Notes of earlier releases name no daemon; a directory without one has had no containers.
func TestKindNotes(t *testing.T) {
	for note, tc := range map[string]struct{ with, bad bool }{
		"":                     {},
		`{"runtime":"docker"}`: {with: true},
		"{broken":              {bad: true},
		"{}":                   {bad: true},
	} {
		dir := t.TempDir()
		if note != "" {
			if err := os.WriteFile(filepath.Join(dir, noteFile), []byte(note), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := Runtime(dir)
		if (got != nil) != tc.with || (err != nil) != tc.bad {
			t.Errorf("%s: %v, %v", note, got, err)
			continue
		}
		if tc.with {
			if at, fixed := got.Endpoint(); fixed {
				t.Errorf("%s: at %q", note, at)
			}
		}
	}
}
