package doctor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// fake is a machine made of data.
type fake struct {
	refused             string // the address that cannot be listened on
	memory, disk, files uint64
	unwritable          error
}

func healthy() fake { return fake{memory: 8 * gib, disk: 100 * gib, files: 4096} }

func (f fake) Listen(_ context.Context, address string) error {
	if strings.HasPrefix(address, f.refused+":") {
		return errors.New("cannot assign requested address")
	}
	return nil
}
func (f fake) Memory() (uint64, error)     { return f.memory, nil }
func (f fake) Disk(string) (uint64, error) { return f.disk, nil }
func (f fake) OpenFiles() (uint64, error)  { return f.files, nil }
func (f fake) Write(string) error          { return f.unwritable }

// boxes is what containers find, made of data.
type boxes struct {
	absent, diskless error
	inotify, cgroup  int
}

func (b boxes) Runtime(context.Context) (string, error) { return "docker", b.absent }
func (b boxes) Inotify() (int, error)                   { return b.inotify, nil }
func (b boxes) Disks(string) error                      { return b.diskless }
func (b boxes) Cgroup() (int, error)                    { return b.cgroup, nil }

// on runs the command on a machine.
func on(m fake) func(context.Context, *options) error {
	return with(m, boxes{inotify: 1024, cgroup: 2})
}

func with(m fake, b boxes) func(context.Context, *options) error {
	return func(ctx context.Context, o *options) error {
		o.machine, o.os, o.arch, o.containers = m, "linux", "amd64", b
		return run(ctx, o)
	}
}

func TestHealthy(t *testing.T) {
	for _, format := range []string{"table", "json", "yaml", "name"} {
		e := clitest.NewEnv(nil)
		e.State.Dir = "/state"
		if r := e.Run(t.Context(), NewCmdDoctor(e.Deps, on(healthy())), "-o", format); r.Exit != 0 {
			t.Fatalf("ended with %+v", r)
		}
		clitest.Golden(t, "healthy."+format, e.Out.String())
	}
}

func TestSick(t *testing.T) {
	e := clitest.NewEnv(nil)
	e.State.Dir = "/state"
	e.State.Items = []command.Sandbox{{Name: "dead"}, {Name: "alive", Running: true}}
	m := fake{refused: "127.0.0.2", memory: 600 * mib, disk: 100 * mib, files: 256, unwritable: errors.New("mkdir /state: permission denied")}
	want := report.Record{
		Code: "prerequisite-missing", Exit: report.Prerequisite, Try: "export VSPHERE_SANDBOX_STATE=DIRECTORY",
		Message: "state-directory: mkdir /state: permission denied; disk: 100Mi of disk space for the state directory; a sandbox takes about 200Mi",
	}
	if d := cmp.Diff(want, e.Run(t.Context(), NewCmdDoctor(e.Deps, on(m)))); d != "" {
		t.Error(d)
	}
	clitest.Golden(t, "sick.table", e.Out.String())
}

// What kind wants fails nothing: it is not what a sandbox takes by default.
func TestKind(t *testing.T) {
	for name, b := range map[string]boxes{
		"kind-absent": {absent: &runtime.Error{Code: runtime.Missing, Message: "no container runtime is installed", Try: "install Docker\nor not"}},
		"kind-poor":   {inotify: 128, cgroup: 1, diskless: errors.New("files cannot be disks here: loop device: permission denied")},
	} {
		e := clitest.NewEnv(nil)
		e.State.Dir = "/state"
		if r := e.Run(t.Context(), NewCmdDoctor(e.Deps, with(healthy(), b))); r.Exit != 0 {
			t.Fatalf("%s ended with %+v", name, r)
		}
		clitest.Golden(t, name, e.Out.String())
	}
}

func TestFix(t *testing.T) {
	e := clitest.NewEnv(nil)
	e.State.Items = []command.Sandbox{{Name: "dead"}}
	e.State.Reaped = []string{"dead: 3 processes, files"}
	if r := e.Run(t.Context(), NewCmdDoctor(e.Deps, on(healthy())), "--fix"); r.Exit != 0 {
		t.Fatalf("ended with %+v", r)
	}
	if !strings.Contains(e.Out.String(), "cleared away: dead: 3 processes, files") {
		t.Errorf("got\n%s", e.Out)
	}
}

func TestPlatform(t *testing.T) {
	for platformName, want := range map[string]string{
		"linux/amd64": pass, "linux/arm64": pass, "linux/386": fail, "darwin/arm64": warn, "windows/amd64": fail,
	} {
		os, arch, _ := strings.Cut(platformName, "/")
		if f := platform(os, arch); f.Verdict != want {
			t.Errorf("%s: %+v", platformName, f)
		}
	}
	if f := loopback(t.Context(), fake{refused: "127.0.0.1"}); f.Verdict != fail {
		t.Errorf("no loopback: %+v", f)
	}
}

func TestThisMachine(t *testing.T) {
	root := filepath.Join(t.TempDir(), "not", "there")
	m := local{}
	if err := m.Listen(t.Context(), "127.0.0.1:0"); err != nil {
		t.Error(err)
	}
	if n, err := m.Memory(); err != nil || n < mib {
		t.Errorf("memory: %d, %v", n, err)
	}
	if n, err := m.Disk(root); err != nil || n == 0 {
		t.Errorf("disk: %d, %v", n, err)
	}
	if n, err := m.OpenFiles(); err != nil || n == 0 {
		t.Errorf("files: %d, %v", n, err)
	}
	if err := m.Write(root); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(root)); !os.IsNotExist(err) {
		t.Errorf("a directory was left behind: %v", err)
	}
	if err := m.Write(filepath.Dir(filepath.Dir(root))); err != nil {
		t.Error(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := m.Write(file); err == nil {
		t.Error("a file passes for a directory")
	}
}
