package down

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/attach"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/journal"
)

func TestOptions(t *testing.T) {
	for _, tc := range []struct {
		args    string
		all     bool
		timeout time.Duration
		exit    int
	}{
		{args: "", timeout: 30 * time.Second},
		{args: "--all --timeout 5s", all: true, timeout: 5 * time.Second},
		{args: "lab", exit: report.Usage},
		{args: "--timeout soon", exit: report.Failure}, // the root command makes it a usage error
	} {
		t.Run(tc.args, func(t *testing.T) {
			e := clitest.NewEnv(nil)
			var got *options
			r := e.Run(t.Context(), NewCmdDown(e.Deps, func(_ context.Context, o *options) error { got = o; return nil }), strings.Fields(tc.args)...)
			if r.Exit != tc.exit {
				t.Fatalf("ended with %+v", r)
			}
			if tc.exit == 0 && (got.all != tc.all || got.timeout != tc.timeout) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestDown(t *testing.T) {
	for _, tc := range []struct {
		name  string
		roles [][2]string // role and name
		flag  string      // --name
		args  []string
		want  string
	}{
		{name: "not up", want: "sandbox \"default\" is not up: nothing to do\n"},
		{name: "not up, by name", flag: "lab", want: "sandbox \"lab\" is not up: nothing to do\n"},
		{name: "none is up", args: []string{"--all"}, want: "no sandbox is up: nothing to do\n"},
		{name: "another name", roles: [][2]string{{"crashing", "lab"}}, flag: "lob", want: "sandbox \"lob\" is not up: nothing to do\ntry: vsphere-sandbox down --name lab\n"},
		{name: "asked", roles: [][2]string{{"obedient", "default"}}, want: "sandbox \"default\": stopping\nsandbox \"default\": down\n"},
		{name: "the only one", roles: [][2]string{{"obedient", "lab"}}, want: "sandbox \"lab\": stopping\nsandbox \"lab\": down\n"},
		{name: "terminated", roles: [][2]string{{"deaf", "default"}}, want: "sandbox \"default\": stopping\nsandbox \"default\": down\n"},
		{name: "crashed", roles: [][2]string{{"crashing", "lab"}}, flag: "lab", want: "sandbox \"lab\": cleaned up (1 processes were left)\n"},
		{
			name: "killed", roles: [][2]string{{"stubborn", "lab"}}, args: []string{"--timeout", "50ms"},
			want: "sandbox \"lab\": stopping\nsandbox \"lab\": did not end within 50ms, killed\nsandbox \"lab\": cleaned up (1 processes were left)\n",
		},
		{
			name: "all", roles: [][2]string{{"obedient", "b"}, {"crashing", "a"}}, args: []string{"--all"},
			want: "sandbox \"a\": cleaned up (1 processes were left)\nsandbox \"b\": stopping\nsandbox \"b\": down\n",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			for _, role := range tc.roles {
				r.play(role[0], role[1])
			}
			r.NameFlag = tc.flag
			if rec := r.Run(t.Context(), NewCmdDown(r.Deps, nil), tc.args...); rec.Exit != 0 {
				t.Fatalf("ended with %+v", rec)
			}
			if diff := cmp.Diff(tc.want, r.Err.String()); diff != "" {
				t.Errorf("said (-want +got):\n%s", diff)
			}
			if r.Out.Len() > 0 {
				t.Errorf("result %q", r.Out)
			}
			if tc.flag == "lob" {
				if _, err := instance.Reap(t.Context(), r.root, "lab"); err != nil {
					t.Errorf("the other one: %v", err)
				}
			}
			r.requireEmpty()
		})
	}
}

// A sandbox that could not remove its containers is not down: the removal is retried, and reported until it succeeds.
func TestLeft(t *testing.T) {
	docker := filepath.Join(t.TempDir(), "docker")
	answer := func(script string) {
		if err := os.WriteFile(docker, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	answer("echo 'Cannot connect to the Docker daemon' >&2; exit 1")
	t.Setenv(runtimeEnv, docker)
	r := newRig(t)
	r.play("leaving", "lab")
	r.NameFlag = "lab"
	for _, again := range []string{"the one that ends it", "a second"} {
		rec := r.Run(t.Context(), NewCmdDown(r.Deps, nil))
		if rec.Exit != report.Failure || rec.Code != "left-behind" || !strings.Contains(rec.Why, "its containers are left") || !strings.Contains(rec.Try, "down --name lab") {
			t.Errorf("%s: ended with %+v", again, rec)
		}
		if strings.Contains(r.Err.String(), ": down\n") {
			t.Errorf("%s: said %q", again, r.Err)
		}
	}
	answer("exit 0")
	if rec := r.Run(t.Context(), NewCmdDown(r.Deps, nil)); rec.Exit != 0 {
		t.Errorf("ended with %+v", rec)
	}
	r.requireEmpty()
}

// Containers and objects of a cluster take their time to go; who says how long a sandbox may take is taken at the word.
func TestPatience(t *testing.T) {
	root := t.TempDir()
	for name, note := range map[string][2]string{
		"processes": {}, "containers": {"kind.json", `{"runtime":"docker"}`}, "objects": {"cluster.json", `{"name":"objects","context":"lab"}`},
	} {
		if err := os.Mkdir(filepath.Join(root, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if note[0] == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(root, name, note[0]), []byte(note[1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		name    string
		limited bool
		want    time.Duration
	}{
		{"processes", false, time.Second},
		{"containers", false, kind.StopTime},
		{"containers", true, time.Second},
		{"objects", false, attach.StopTime},
		{"objects", true, time.Second},
	} {
		o := &options{timeout: time.Second, limited: tc.limited}
		if got := o.patience(root, tc.name); got != tc.want {
			t.Errorf("%s, asked for %t: %s, want %s", tc.name, tc.limited, got, tc.want)
		}
	}
}

// written leaves the journal of a sandbox that has written to a real VM, which is not there any more, and is gone.
func written(t *testing.T, root, name string) {
	t.Helper()
	conf := filepath.Join(t.TempDir(), "vsphere.conf")
	if err := os.WriteFile(conf, []byte("vcenter: {vc: {server: 127.0.0.1, port: 1, user: u, password: p}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(filepath.Join(root, name+".writes.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	e := journal.Entry{
		VCenter: "vc", Ref: types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-1"}, VM: "/dc/vm/vm-1",
		Do: journal.Action{Kind: "reset"}, Undo: journal.Action{Kind: "nothing"},
	}
	err = j.Write(t.Context(), e, func(context.Context) error { return nil })
	settings := fmt.Sprintf(`{"source": %q, "scope": {"AllowWrites": true, "Folders": ["/dc/vm"]}}`, conf)
	if err := errors.Join(err, j.Close(), os.WriteFile(filepath.Join(root, name+".writes.json"), []byte(settings), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// What was written to real vCenters is taken back also where nothing else is left of the sandbox, or another one has had its
// name since.
func TestUnreverted(t *testing.T) {
	const back = "takes back vcenter \"vc\": /dc/vm/vm-1: as it is: this cannot be taken back\n"
	for _, tc := range []struct{ name, role, flag, want string }{
		{name: "all", want: `sandbox "lab": ` + back},
		{name: "by name", flag: "lab", want: `sandbox "lab": ` + back + "sandbox \"lab\" is not up: nothing to do\n"},
		{name: "all, and another one is up", role: "obedient", want: "sandbox \"lab\": stopping\nsandbox \"lab\": down\n" + `sandbox "lab": ` + back},
		{name: "all, and another one has crashed", role: "crashing", want: `sandbox "lab": ` + back + "sandbox \"lab\": cleaned up (1 processes were left)\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			written(t, r.root, "lab")
			if tc.role != "" {
				r.play(tc.role, "lab")
			}
			args := []string{"--all"}
			if r.NameFlag = tc.flag; tc.flag != "" {
				args = nil
			}
			if rec := r.Run(t.Context(), NewCmdDown(r.Deps, nil), args...); rec.Exit != 0 {
				t.Fatalf("ended with %+v", rec)
			}
			if diff := cmp.Diff(tc.want, r.Err.String()); diff != "" {
				t.Errorf("said (-want +got):\n%s", diff)
			}
			r.requireEmpty()
		})
	}
}

func TestInterrupted(t *testing.T) {
	r := newRig(t)
	said := r.play("stubborn", "default")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		said.Scan() // it has been asked
		cancel()
	}()
	if rec := r.Run(ctx, NewCmdDown(r.Deps, nil), "--timeout", "1h"); rec.Exit != report.Interrupted {
		t.Fatalf("ended with %+v", rec)
	}
	if d, err := instance.Open(r.root, "default"); err != nil {
		t.Error(err)
	} else if _, running := d.Running(); !running {
		t.Error("it has been ended all the same")
	}
	if rec := r.Run(t.Context(), NewCmdDown(r.Deps, nil), "--timeout", "1ms"); rec.Exit != 0 {
		t.Errorf("ended with %+v", rec)
	}
	r.requireEmpty()
}

// What cannot be known is not taken for "nothing to do".
func TestUnknown(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "lab"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		deps func(*clitest.Env)
		want report.Record
	}{
		{
			name: "state directory not readable", deps: func(e *clitest.Env) { e.Deps.Sandboxes = listed{e.State} },
			want: report.Record{
				Code: "state-unreadable", Message: "the state directory cannot be read", Why: "state directory: permission denied", Exit: report.Prerequisite,
				Try: "run it as the user who started the sandbox, or export VSPHERE_SANDBOX_STATE=DIR that is yours",
			},
		},
		{
			name: "a file in its place", deps: func(e *clitest.Env) {
				e.NameFlag, e.State.Dir = "lab", dir
			},
			want: report.Record{Code: "failed", Message: "state directory: open " + dir + "/lab: not a directory", Exit: 1},
		},
		{
			name: "no name", deps: func(e *clitest.Env) { e.NameFlag = "../x" },
			want: report.Record{
				Code: "usage", Try: "--name lab", Exit: report.Usage,
				Message: `sandbox name "../x": want lower-case letters, digits and dashes, a letter or digit first and last, at most 40 characters`,
			},
		},
		{
			name: "several", deps: func(e *clitest.Env) {
				e.State.Items = []command.Sandbox{{Name: "a", Running: true}, {Name: "b", Running: true}}
			},
			want: report.Record{Code: "ambiguous", Message: "several sandboxes run: a, b", Try: "name one: --name a, or export VSPHERE_SANDBOX_NAME=a", Exit: 2},
		},
	} {
		e := clitest.NewEnv(nil)
		tc.deps(e)
		if diff := cmp.Diff(tc.want, e.Run(t.Context(), NewCmdDown(e.Deps, nil))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// listed is a state directory that cannot be listed.
type listed struct{ *clitest.Sandboxes }

func (listed) List(context.Context) ([]command.Sandbox, error) {
	return nil, fmt.Errorf("state directory: %w", fs.ErrPermission)
}

// One that holds its lock and of which no process is known can be neither asked nor killed.
func TestStuck(t *testing.T) {
	root := t.TempDir()
	dir, err := instance.Create(root, "lab")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Remove()
	e := clitest.NewEnv(nil)
	e.State.Dir = root
	e.State.Items = []command.Sandbox{{Name: "lab", Socket: dir.SocketPath(), Running: true}}
	want := report.Record{Code: "stuck", Message: `sandbox "lab" does not end and has no known process`, Exit: 1}
	if diff := cmp.Diff(want, e.Run(t.Context(), NewCmdDown(e.Deps, nil), "--timeout", "1ms")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// One that has taken the name since is neither waited for nor killed.
func TestSuccessor(t *testing.T) {
	root := t.TempDir()
	dir, err := instance.Create(root, "lab") // held by this process
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Remove()
	e := clitest.NewEnv(nil)
	e.State.Dir = root
	const none = 1<<22 + 1 // more than the number of any process
	for _, tc := range []struct {
		name string
		s    command.Sandbox
		want string
	}{
		{"of one that ran", command.Sandbox{Name: "lab", Socket: dir.SocketPath(), Running: true, PID: none}, "sandbox \"lab\": stopping\nsandbox \"lab\": down\n"},
		{"of a dead one", command.Sandbox{Name: "lab", Socket: dir.SocketPath()}, "sandbox \"lab\": cleaned up (0 processes were left)\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e.Err.Reset()
			e.State.Items = []command.Sandbox{tc.s}
			if r := e.Run(t.Context(), NewCmdDown(e.Deps, nil), "--all", "--timeout", "1h"); r.Exit != 0 {
				t.Fatalf("ended with %+v", r)
			}
			if diff := cmp.Diff(tc.want, e.Err.String()); diff != "" {
				t.Errorf("said (-want +got):\n%s", diff)
			}
			if _, running := dir.Running(); !running {
				t.Error("the successor is gone")
			}
		})
	}
}

// A sandbox that cannot be looked at is in no list, and for all that may be there.
func TestUnreadable(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "lab")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	hide := func() error { return os.Chmod(root, 0o400) }
	if os.Geteuid() == 0 { // whom modes do not keep out
		hide = func() error { return os.Chown(dir, 65534, -1) }
	}
	if err := hide(); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(root, 0o700)
	e := clitest.NewEnv(nil)
	e.NameFlag, e.State.Dir = "lab", root
	want := "state-unreadable"
	if os.Geteuid() == 0 {
		want = "state-untrusted" // it belongs to another user
	}
	if r := e.Run(t.Context(), NewCmdDown(e.Deps, nil)); r.Code != want || r.Exit != report.Prerequisite {
		t.Errorf("ended with %+v", r)
	}
	if e.Err.Len() > 0 {
		t.Errorf("said %q", e.Err)
	}
}
