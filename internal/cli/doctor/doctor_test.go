package doctor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/loopback"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/preflight"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// fake is a machine made of data.
type fake struct {
	refused             string // the address that cannot be listened on
	memory, disk, files uint64
	unwritable          error
}

const (
	mib = 1 << 20
	gib = 1 << 30
)

func healthy() fake { return fake{memory: 8 * gib, disk: 100 * gib, files: 4096} }

func (f fake) Limits() preflight.Host {
	return preflight.Host{
		FS: fstest.MapFS{
			"proc/meminfo":                           {Data: fmt.Appendf(nil, "MemAvailable: %d kB\n", f.memory>>10)},
			"proc/sys/fs/inotify/max_user_instances": {Data: []byte("128\n")},
			"proc/sys/fs/inotify/max_user_watches":   {Data: []byte("65536\n")},
		},
		Limit: func(resource int) (uint64, error) {
			if resource == unix.RLIMIT_NOFILE {
				return f.files, nil
			}
			return math.MaxUint64, nil
		},
		Disk: func(string) (uint64, uint64, error) { return f.disk, math.MaxUint64, nil },
		Dial: func(context.Context) error { return nil },
		Listen: func(_ context.Context, at loopback.Place, _ int) error {
			if f.refused != "" && len(at.Addresses) > 0 && strings.HasPrefix(at.Addresses[0], f.refused+":") {
				return errors.New("cannot assign requested address")
			}
			return nil
		},
	}
}

func (f fake) Write(string) error { return f.unwritable }

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
		o.machine, o.os, o.arch, o.cpus, o.containers = m, "linux", "amd64", 4, b
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
	m := fake{refused: "127.0.0.2", memory: 600 * mib, disk: 100 * mib, files: 200, unwritable: errors.New("mkdir /state: permission denied")}
	want := report.Record{
		Code: "prerequisite-missing", Exit: report.Prerequisite,
		Try:     "ulimit -n 4096\nfree some space, or export VSPHERE_SANDBOX_STATE=DIRECTORY\nexport VSPHERE_SANDBOX_STATE=DIRECTORY",
		Message: "open-files: a process may have 200 files open, and one of the sandbox needs 232: 32 short; disk: 100Mi free for the state directory, and a boot writes 126Mi: 26Mi short; state-directory: mkdir /state: permission denied",
	}
	if d := cmp.Diff(want, e.Run(t.Context(), NewCmdDoctor(e.Deps, on(m)))); d != "" {
		t.Error(d)
	}
	clitest.Golden(t, "sick.table", e.Out.String())
}

// What kind wants fails nothing: it is not what a sandbox takes by default.
func TestKind(t *testing.T) {
	for name, b := range map[string]boxes{
		"kind-absent": {absent: &coded.Error{Code: runtime.Missing, Message: "no container runtime is installed", Try: "install Docker\nor not"}},
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
	if !strings.Contains(e.Out.String(), "removed: dead: 3 processes, files") {
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
}

func TestThisMachine(t *testing.T) {
	root := filepath.Join(t.TempDir(), "not", "there")
	m := local{}
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
