package up

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/source"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/preflight"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters/real"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

func TestExplain(t *testing.T) {
	o := &options{name: "lab"}
	forbidden := report.Record{
		Code: "port-forbidden", Message: "a port may not be used: ports below 1024 are for root", Why: "control plane: listen tcp: bind: permission denied",
		Exit: 4, Try: "vsphere-sandbox up --api-port 0   # any free one",
	}
	for _, tc := range []struct {
		name  string
		state bool // it is of the state directory, not of the run
		err   error
		want  report.Record
	}{
		{name: "nothing", want: report.Record{}},
		{name: "port of root", err: fmt.Errorf("control plane: %w", &net.OpError{Op: "listen", Net: "tcp", Err: os.NewSyscallError("bind", syscall.EACCES)}), want: forbidden},
		{name: "permission, of something else", err: &fs.PathError{Op: "open", Path: "/x", Err: syscall.EACCES}, want: report.Record{
			Code: "failed", Message: `sandbox "lab": open /x: permission denied`, Exit: 1,
		}},
		{name: "running", state: true, err: instance.ErrRunning{Name: "lab", PID: 7}, want: report.Record{
			Code: "already-running", Message: `sandbox "lab" is already running, as process 7`, Exit: 1,
			Try: "vsphere-sandbox status --name lab\nvsphere-sandbox down --name lab\nvsphere-sandbox up --name another",
		}},
		{name: "port", err: fmt.Errorf("control plane: %w", &net.OpError{Op: "listen", Net: "tcp", Err: os.NewSyscallError("bind", syscall.EADDRINUSE)}), want: report.Record{
			Code: "port-in-use", Message: "a port is taken by another program", Why: "control plane: listen tcp: bind: address already in use", Exit: 4,
			Try: "vsphere-sandbox up --api-port 0   # any free one",
		}},
		{name: "disk", err: &fs.PathError{Op: "write", Path: "/x", Err: syscall.ENOSPC}, want: report.Record{
			Code: "disk-full", Message: "the disk of the state directory is full", Why: "write /x: no space left on device", Exit: 4,
			Try: "free some space, or export VSPHERE_SANDBOX_STATE=DIR elsewhere",
		}},
		{name: "disk, as a child tells it", err: errors.New("control-plane: etcd: write 0.tmp: no space left on device"), want: report.Record{
			Code: "disk-full", Message: "the disk of the state directory is full", Why: "control-plane: etcd: write 0.tmp: no space left on device", Exit: 4,
			Try: "free some space, or export VSPHERE_SANDBOX_STATE=DIR elsewhere",
		}},
		{name: "permission", state: true, err: &fs.PathError{Op: "mkdir", Path: "/x", Err: syscall.EACCES}, want: report.Record{
			Code: "state-unwritable", Message: "the state directory cannot be written", Why: "mkdir /x: permission denied", Exit: 4,
			Try: "export VSPHERE_SANDBOX_STATE=DIR   # a folder that you can write to",
		}},
		{name: "read-only", state: true, err: &fs.PathError{Op: "mkdir", Path: "/x", Err: syscall.EROFS}, want: report.Record{
			Code: "state-unwritable", Message: "the state directory cannot be written", Why: "mkdir /x: read-only file system", Exit: 4,
			Try: "export VSPHERE_SANDBOX_STATE=DIR   # a folder that you can write to",
		}},
		{name: "disk, before the run", state: true, err: &fs.PathError{Op: "write", Path: "/x", Err: syscall.ENOSPC}, want: report.Record{
			Code: "disk-full", Message: "the disk of the state directory is full", Why: "write /x: no space left on device", Exit: 4,
			Try: "free some space, or export VSPHERE_SANDBOX_STATE=DIR elsewhere",
		}},
		{name: "other, before the run", state: true, err: errors.New("boom"), want: report.Record{Code: "failed", Message: `sandbox "lab": boom`, Exit: 1}},
		{name: "interrupted", err: fmt.Errorf("nodes: %w", context.Canceled), want: report.Record{Code: "interrupted", Message: "interrupted", Exit: 130}},
		{name: "other", err: errors.New("boom"), want: report.Record{Code: "failed", Message: `sandbox "lab": boom`, Exit: 1}},
	} {
		explain := explainRun
		if tc.state {
			explain = explainState
		}
		if diff := cmp.Diff(tc.want, report.Of(explain(o, tc.err))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

func TestReportTrouble(t *testing.T) {
	e := clitest.NewEnv(nil)
	log := event.NewLog(0)
	for n := range 14 {
		log.Append(event.Event{Level: event.Error, Message: fmt.Sprintf("error %d", n)})
		log.Append(event.Event{Level: event.Warning, Message: "warning"})
	}
	want := ""
	for n := 2; n < 14; n++ {
		want += fmt.Sprintf("  ✗ error %d\n", n)
	}
	reportTrouble(&options{Deps: e.Deps}, log)
	if diff := cmp.Diff(want, e.Err.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// With kept nodes the output has how to see them, and how to remove them.
func TestReportNodes(t *testing.T) {
	for note, want := range map[string]string{
		"":                     "",
		`{"runtime":"podman"}`: "kept with it are its nodes, as far as they were made: podman ps --all --filter label=io.x-k8s.kind.cluster=vsphere-sandbox-lab\n",
	} {
		dir := t.TempDir()
		if note != "" {
			if err := os.WriteFile(filepath.Join(dir, "kind.json"), []byte(note), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		e := clitest.NewEnv(nil)
		reportNodes(&options{Deps: e.Deps, name: "lab"}, dir)
		if said := e.Err.String(); !strings.HasPrefix(said, want) || (said == "") != (want == "") || want != "" && !strings.HasSuffix(said, " --name lab down\n") {
			t.Errorf("%s: said %q", note, said)
		}
	}
}

func TestBootOfARunningSandbox(t *testing.T) {
	e := clitest.NewEnv(nil)
	e.State.Dir = t.TempDir()
	dir, err := instance.Create(e.State.Dir, "default")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Remove()
	if r := e.Run(t.Context(), NewCmdUp(e.Deps, nil), "single", "--csi", "off"); r.Code != "already-running" {
		t.Errorf("ended with %+v", r)
	}
	if _, running := dir.Running(); !running {
		t.Error("the running one has lost its directory")
	}
}

// A boot that fails says why, and leaves nothing behind but, when asked to, its directory.
func TestBootFails(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	for _, tc := range []struct {
		name string
		args []string
		said []string
		kept bool
	}{
		{name: "plain", said: []string{"sandbox \"default\": 1 vCenter", "✓ control API", "✗ control plane: kube-apiserver: listen tcp 127.0.0.1:" + port}},
		{name: "retained", args: []string{"--retain"}, said: []string{"kept until \"down\" or the next \"up\" of that name: "}, kept: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := clitest.NewEnv(nil)
			e.State.Dir = t.TempDir()
			r := e.Run(t.Context(), NewCmdUp(e.Deps, nil), append(tc.args, "single", "--api-port", port, "--csi", "off", "--ignore-preflight-errors", "ports")...)
			if r.Code != "port-in-use" || r.Exit != report.Prerequisite {
				t.Fatalf("ended with %+v", r)
			}
			for _, text := range tc.said {
				if !strings.Contains(e.Err.String(), text) {
					t.Errorf("did not say %q:\n%s", text, e.Err)
				}
			}
			if e.Out.Len() > 0 {
				t.Errorf("result %q", e.Out)
			}
			entries, err := instance.List(e.State.Dir)
			if err != nil || (len(entries) == 1) != tc.kept {
				t.Fatalf("left: %+v, %v", entries, err)
			}
			if tc.kept {
				if !entries[0].Record.Retained || entries[0].Running {
					t.Errorf("left: %+v", entries[0])
				}
				if _, err := instance.Reap(t.Context(), e.State.Dir, "default"); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// On a terminal the changing line does not stand in the way of the reason.
func TestBootFailsOnATerminal(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	e := clitest.NewEnv(nil)
	e.Streams.SetTTY(true, true, true)
	e.State.Dir = t.TempDir()
	e.Run(t.Context(), NewCmdUp(e.Deps, nil), "single", "--api-port", strconv.Itoa(l.Addr().(*net.TCPAddr).Port), "--csi", "off", "--ignore-preflight-errors", "ports")
	if _, rest, ok := strings.Cut(e.Err.String(), "  ✗ "); !ok || strings.Contains(rest, "\x1b") {
		t.Errorf("said %q", e.Err)
	}
	if !strings.Contains(e.Err.String(), "\r\x1b[K  ✗ ") {
		t.Errorf("the reason is not on a line of its own: %q", e.Err)
	}
}

func TestStateDirectoryThatIsAFile(t *testing.T) {
	e := clitest.NewEnv(nil)
	e.State.Dir = t.TempDir() + "/file"
	if err := os.WriteFile(e.State.Dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := e.Run(t.Context(), NewCmdUp(e.Deps, nil), "single", "--csi", "off"); r.Exit != report.Prerequisite || r.Code != "state-unusable" || !strings.Contains(r.Why, "is a file, not a directory") {
		t.Errorf("ended with %+v", r)
	}
}

// Ctrl-C is answered at once.
func TestInterrupted(t *testing.T) {
	e := clitest.NewEnv(nil)
	e.State.Dir = t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	e.Streams.Err = &whenWritten{Writer: e.Streams.Err, do: cancel} // "sandbox ...": it boots
	if r := e.Run(ctx, NewCmdUp(e.Deps, nil), "single", "--csi", "off"); r.Exit != report.Interrupted {
		t.Errorf("ended with %+v", r)
	}
	if !strings.Contains(e.Err.String(), "sandbox \"default\": stopping\n") {
		t.Errorf("said %q", e.Err)
	}
}

// whenWritten does something before the first write.
type whenWritten struct {
	io.Writer
	once sync.Once
	do   func()
}

func (w *whenWritten) Write(b []byte) (int, error) {
	w.once.Do(w.do)
	return w.Writer.Write(b)
}

// A machine that has too little is left as it is, with words for all that is short.
func TestMachineLimits(t *testing.T) {
	e := clitest.NewEnv(nil)
	e.State.Dir = filepath.Join(t.TempDir(), "state")
	short := preflight.Here()
	short.Limit = func(int) (uint64, error) { return 64, nil }
	short.Disk = func(string) (uint64, uint64, error) { return 1 << 20, 1 << 20, nil }
	short.Dial = func(context.Context) error { return nil }
	on := func(ctx context.Context, o *options) error {
		o.limits.Machine = &short
		return run(ctx, o)
	}
	r := e.Run(t.Context(), NewCmdUp(e.Deps, on), "single", "--csi", "off")
	if r.Code != "machine-limits" || r.Exit != report.Prerequisite {
		t.Fatalf("ended with %+v", r)
	}
	for _, words := range []string{"open-files: a process may have 64 files open", "disk: 1Mi free"} {
		if !strings.Contains(r.Message, words) {
			t.Errorf("%q does not say %q", r.Message, words)
		}
	}
	for _, words := range []string{"ulimit -n 4096", "VSPHERE_SANDBOX_STATE", "--ignore-preflight-errors=open-files,"} {
		if !strings.Contains(r.Try, words) {
			t.Errorf("advice %q has no %q", r.Try, words)
		}
	}
	if _, err := os.Stat(e.State.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the state directory was made: %v", err)
	}
}

// A port of the vCenters that a stranger has on all addresses has advice.
func TestVCenterPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	e := clitest.NewEnv(nil)
	e.State.Dir = t.TempDir()
	on := func(ctx context.Context, o *options) error {
		o.limits.Ignored = []string{preflight.Inotify, preflight.Memory} // other programs run here
		return run(ctx, o)
	}
	r := e.Run(t.Context(), NewCmdUp(e.Deps, on), "single", "--csi", "off", "--vcenter-port", port)
	if r.Code != "port-in-use" || r.Exit != report.Prerequisite || !strings.HasPrefix(r.Message, "port "+port+" is in use on every loopback address") || !strings.Contains(r.Try, "--vcenter-port 0") {
		t.Errorf("ended with %+v", r)
	}
}

// "up 2>&1 | head" does not end the sandbox: it continues, here until its port is taken, and cleans up.
func TestNoListener(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	root := t.TempDir()
	cmd := exec.Command(os.Args[0], root, strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
	cmd.Env = append(os.Environ(), roleEnv+"=unheard")
	cmd.Stdout, cmd.Stderr = w, w
	var exit *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != report.Prerequisite {
		t.Errorf("ended with %v", err)
	}
	if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// elsewhere returns a vsphere.conf of a vCenter that does not respond.
func elsewhere(t *testing.T) string {
	t.Helper()
	conf := filepath.Join(t.TempDir(), "vsphere.conf")
	if err := os.WriteFile(conf, []byte("vcenter: {vc: {server: 127.0.0.1, port: 1, user: u, password: p}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return conf
}

// Containers can be the nodes of real VMs, and have no disks of theirs.
func TestRealOnKind(t *testing.T) {
	e := clitest.NewEnv(nil)
	var got *options
	ran := func(_ context.Context, o *options) error { got = o; return nil }
	if r := e.Run(t.Context(), NewCmdUp(e.Deps, ran), "--vcenter-config", elsewhere(t), "--cluster", "kind"); got == nil || got.csi.Driver != "off" {
		t.Errorf("ended with %+v, options %+v", r, got)
	}
	got = nil
	r := e.Run(t.Context(), NewCmdUp(e.Deps, ran), "--vcenter-config", elsewhere(t), "--cluster", "kind", "--csi", "builtin")
	if r.Exit != report.Usage || !strings.Contains(r.Message, "the disks of a real VM") || got != nil {
		t.Errorf("ended with %+v", r)
	}
}

// One that runs is found before its journal is, which it has open.
func TestRealAlreadyRunning(t *testing.T) {
	e := clitest.NewEnv(nil)
	e.State.Dir, e.NameFlag = t.TempDir(), "lab"
	dir, err := instance.Create(e.State.Dir, "lab")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dir.Remove() })
	r := e.Run(t.Context(), NewCmdUp(e.Deps, nil), "--vcenter-config", elsewhere(t), "--allow-writes", "--write-folder", "/dc/vm")
	if r.Code != "already-running" || !strings.Contains(r.Try, "down --name lab") {
		t.Errorf("ended with %+v", r)
	}
}

// still is a sandbox that is up, without nodes.
type still struct{}

func (still) Run(context.Context, func()) error { return nil }
func (still) Log() *event.Log                   { return event.NewLog(0) }
func (still) Status() api.Status                { return api.Status{} }
func (still) Nodes() []api.Node                 { return nil }

// The suggested commands work, and break nothing of the user's.
func TestNext(t *testing.T) {
	single, err := source.Load("up", "single", nil)
	if err != nil {
		t.Fatal(err)
	}
	spaced, err := topology.Load("spaced.yaml", []byte(strings.Replace(tiny, "name: worker-1,", "name: my worker, hostname: w1,", 1)))
	if err != nil {
		t.Fatal(err)
	}
	none, err := topology.Load("none.yaml", []byte(strings.Replace(tiny, ", role: worker", "", 1)))
	if err != nil {
		t.Fatal(err)
	}
	broken := func(vm string) string {
		return `
  vsphere-sandbox kubectl get nodes -L topology.kubernetes.io/region,topology.kubernetes.io/zone
  vsphere-sandbox vm power-off ` + vm + `
  vsphere-sandbox events -f
`
	}
	looked := `
  vsphere-sandbox get nodes
  vsphere-sandbox get vms
  vsphere-sandbox events -f
`
	for name, tc := range map[string]struct {
		o    options
		want string
	}{
		"a worker":                         {options{topology: single}, broken("worker-1")},
		"a worker for a shell to quote":    {options{topology: spaced}, broken("'my worker'")},
		"no worker":                        {options{topology: none}, looked},
		"real vCenters":                    {options{topology: single, real: &real.Options{}}, looked},
		"real vCenters that were detached": {options{real: &real.Options{}, detach: true}, looked},
		"vCenters alone": {options{topology: single, name: "lab", alone: &VCenters{}}, `
  eval "$(vsphere-sandbox --name lab env)"
  vsphere-sandbox --name lab govc ls
  vsphere-sandbox --name lab events -f
`},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.o.name == "" {
				tc.o.name = "default"
			}
			if d := cmp.Diff(tc.want, next(&tc.o)); d != "" {
				t.Error(d)
			}
		})
	}
}

// In the foreground the terminal is taken: what is next is for another one.
func TestAnnounce(t *testing.T) {
	single, err := source.Load("up", "single", nil)
	if err != nil {
		t.Fatal(err)
	}
	e := clitest.NewEnv(nil)
	o := &options{Deps: e.Deps, name: "default", topology: single, format: output.Plain}
	if err := announce(t.Context(), o, still{}); err != nil {
		t.Fatal(err)
	}
	want := `
In a second terminal:

  vsphere-sandbox kubectl get nodes -L topology.kubernetes.io/region,topology.kubernetes.io/zone
  vsphere-sandbox vm power-off worker-1
  vsphere-sandbox events -f

Ctrl-C stops it.
`
	if d := cmp.Diff(want, e.Err.String()); d != "" {
		t.Error(d)
	}
}
