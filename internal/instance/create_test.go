package instance_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
)

func create(t *testing.T, root, name string) *instance.Dir {
	t.Helper()
	d, err := instance.Create(root, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Remove(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func TestRoot(t *testing.T) {
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, state, xdg, home, want string }{
		{"own variable", "/s", "/x", "/h", "/s"},
		{"own variable, relative", "s", "/x", "/h", filepath.Join(wd, "s")},
		{"XDG", "", "/x", "/h", "/x/vsphere-sandbox"},
		{"XDG, relative", "", "x", "/h", "/h/.local/state/vsphere-sandbox"},
		{"home", "", "", "/h", "/h/.local/state/vsphere-sandbox"},
		{"nothing", "", "", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv(instance.RootEnv, tt.state)
			t.Setenv("XDG_STATE_HOME", tt.xdg)
			t.Setenv("HOME", tt.home)
			got, err := instance.Root()
			if got != tt.want || (err != nil) != (tt.want == "") {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

func TestValidateName(t *testing.T) {
	for name, ok := range map[string]bool{
		"a": true, "default": true, "zones-us-eu": true, "2": true, strings.Repeat("x", 40): true,
		"": false, "-a": false, "a-": false, "A": false, "a.b": false, "a/b": false, "..": false, "a b": false, "a\n": false,
		strings.Repeat("x", 41): false,
	} {
		if err := instance.ValidateName(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := instance.Create(t.TempDir(), "../x"); err == nil {
		t.Error("a directory outside of the root was created")
	}
}

func TestCreate(t *testing.T) {
	root := filepath.Join(t.TempDir(), "state", "vsphere-sandbox")
	d := create(t, root, "demo")
	for path, want := range map[string]fs.FileMode{
		root: 0o700, d.Path(): 0o700, d.Path("logs"): 0o700, d.Path("lock"): 0o600,
	} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", path, info, err, want)
		}
	}
	for got, want := range map[string]string{
		d.Path("nodes", "worker-1"): "nodes/worker-1",
		d.Log("control-plane"):      "logs/control-plane.log",
		d.Log("node/worker-1"):      "logs/node/worker-1.log",
		d.Log("../../evil"):         "logs/evil.log",
		d.SocketPath():              "control.sock",
	} {
		if got != filepath.Join(d.Path(), want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if left := d.Predecessor(); left.Removed || left.Name != "" {
		t.Errorf("predecessor: %+v", left)
	}
	if pid, running := d.Running(); !running || pid != os.Getpid() {
		t.Errorf("running: %d, %v", pid, running)
	}

	if _, err := d.ReadRecord(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("record before there is one: %v", err)
	}
	want := instance.Record{
		Name: "demo", PID: 7, StartedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Version: "v1", Ready: true,
		Extra: json.RawMessage(`{"speed":10}`),
	}
	if err := d.WriteRecord(want); err != nil {
		t.Fatal(err)
	}
	reader, err := instance.Open(root, "demo")
	if err != nil {
		t.Fatal(err)
	}
	got, err := reader.ReadRecord()
	if err != nil {
		t.Fatal(err)
	}
	compact := cmp.Transformer("compact", func(m json.RawMessage) any {
		var v any
		_ = json.Unmarshal(m, &v)
		return v
	})
	if diff := cmp.Diff(want, got, compact); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
	if reader.SocketPath() != d.SocketPath() || reader.Path() != d.Path() || reader.Journal() != nil {
		t.Errorf("reader: %q, %q", reader.SocketPath(), reader.Path())
	}
	for name, err := range map[string]error{"write": reader.WriteRecord(want), "remove": reader.Remove()} {
		if !errors.Is(err, instance.ErrNotOwner) {
			t.Errorf("%s by a reader: %v", name, err)
		}
	}
	if err := reader.Close(); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := d.Remove(); err != nil {
			t.Error(err)
		}
	}
	if err := d.WriteRecord(want); !errors.Is(err, instance.ErrNotOwner) {
		t.Errorf("record after remove: %v", err)
	}
	requireEmpty(t, root)
}

func TestCreateOfARunningSandboxIsRefused(t *testing.T) {
	root := t.TempDir()
	create(t, root, "demo")
	_, err := instance.Create(root, "demo")
	var running instance.ErrRunning
	if !errors.As(err, &running) || running != (instance.ErrRunning{Name: "demo", PID: os.Getpid()}) {
		t.Errorf("got %v", err)
	}
	if _, err := instance.Reap(t.Context(), root, "demo"); !errors.As(err, &running) {
		t.Errorf("reap: %v", err)
	}
	create(t, root, "other")
}

func TestConcurrentCreateHasOneWinner(t *testing.T) {
	root := t.TempDir()
	var all sync.WaitGroup
	won := make(chan *instance.Dir, 16)
	for range cap(won) {
		all.Go(func() {
			d, err := instance.Create(root, "demo")
			if err == nil {
				won <- d
			} else if !errors.As(err, new(instance.ErrRunning)) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(won) != 1 {
		t.Fatalf("%d winners", len(won))
	}
	if err := (<-won).Remove(); err != nil {
		t.Error(err)
	}
}

// One sandbox comes and goes, while others look and clean up all the time: none
// of them may be mistaken for a running sandbox, nor remove a running one.
func TestReadersAndReapersDoNotDisturb(t *testing.T) {
	root := t.TempDir()
	stop := make(chan struct{})
	var others sync.WaitGroup
	for i := range 4 {
		others.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				var err error
				if i == 0 {
					_, err = instance.ReapAll(t.Context(), root)
				} else {
					_, err = instance.List(root)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range 100 {
		d, err := instance.Create(root, "demo")
		if err != nil {
			t.Fatal(err)
		}
		if err := d.WriteRecord(instance.Record{PID: i}); err != nil {
			t.Fatal(err)
		}
		if r, err := d.ReadRecord(); err != nil || r.PID != i {
			t.Fatalf("record %d: %+v, %v", i, r, err)
		}
		if i%2 == 0 {
			err = d.Remove()
		} else {
			err = d.Close() // as if it had died
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	others.Wait()
	if _, err := instance.ReapAll(t.Context(), root); err != nil {
		t.Fatal(err)
	}
	requireEmpty(t, root)
}

// Any number of checks whether a sandbox runs do not prevent its boot.
func TestLookersAreNoSandbox(t *testing.T) {
	root := t.TempDir()
	d, err := instance.Create(root, "demo")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil { // as if it had died
		t.Fatal(err)
	}
	file, err := os.Open(filepath.Join(root, "demo", "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lock := int(file.Fd())
	if err := unix.Flock(lock, unix.LOCK_SH); err != nil {
		t.Fatal(err)
	}
	const longer = 600 * time.Millisecond // than a sandbox that runs is waited for
	time.AfterFunc(longer, func() { _ = unix.Flock(lock, unix.LOCK_UN) })
	d, err = instance.Create(root, "demo")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Remove(); err != nil {
		t.Fatal(err)
	}
}
