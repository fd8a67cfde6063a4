package govc

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/govc"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/vcsim"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

var show = flag.Bool("show", false, "log what each command prints")

// asGovc in the environment makes the test's binary be govc.
const asGovc = "SANDBOX_TEST_AS_GOVC"

func TestMain(m *testing.M) {
	switch {
	case vcsim.IsName(os.Args[0]):
		os.Exit(vcsim.Main(context.Background(), os.Args[1:], iostreams.System()))
	case os.Getenv(asGovc) != "", filepath.Base(os.Args[0]) == "govc":
		os.Exit(govc.Main(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// TestSession runs the session, command after command, against one vCenter.
func TestSession(t *testing.T) {
	steps := parse(t, "testdata/session.txt")
	commands := make(map[string]bool)
	for _, s := range steps {
		name, _, _ := strings.Cut(s.command, " ")
		commands[name] = true
	}
	if len(commands) < 40 {
		t.Errorf("the session has %d different commands, want 40", len(commands))
	}

	lab := sim.Start(t, "testdata/topology.yaml")
	v := lab.VCenters()[0]
	home := t.TempDir()
	env := []string{
		asGovc + "=yes", "HOME=" + home, "GOVMOMI_HOME=" + home, "PATH=" + os.Getenv("PATH"), "TZ=UTC",
		"GOVC_URL=" + v.URL().String(), "GOVC_USERNAME=" + v.User(), "GOVC_PASSWORD=" + v.Password(),
		"GOVC_TLS_CA_CERTS=" + lab.CAFile,
		"GORACE=atexit_sleep_ms=0", // with the race detector, every process would sleep for a second before it ends
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	variables := map[string]string{"USER": v.User(), "TMP": t.TempDir(), "ADDR": v.Addr(), "UUID": v.InstanceUUID()}
	if err := os.WriteFile(variables["TMP"]+"/hello.txt", []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		run(t, self, env, s, variables)
	}
	t.Logf("%d commands, %d different: %s", len(steps), len(commands), strings.Join(slices.Sorted(maps.Keys(commands)), " "))
}

// run runs one command. A failure does not end the session: the commands after it show how much depends on it.
func run(t *testing.T, self string, env []string, s step, variables map[string]string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	args := fields(os.Expand(s.command, func(name string) string { return variables[name] }))
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = env
	cmd.Stdin = strings.NewReader(s.stdin)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	err := cmd.Run()
	if *show {
		t.Logf("$ %s\nexit %d\n%s", s.command, cmd.ProcessState.ExitCode(), &output)
	}
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	if code := cmd.ProcessState.ExitCode(); code != s.exit {
		t.Errorf("%s:%d: govc %s\nexit code %d, want %d; output:\n%s", s.path, s.line, s.command, code, s.exit, &output)
		return
	}
	if err := s.check(output.String(), variables); err != nil {
		t.Errorf("%s:%d: govc %s\n%v; output:\n%s", s.path, s.line, s.command, err, &output)
	}
}

// fields splits a command line at spaces, save between single quotes.
func fields(line string) (args []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			args = append(args, part)
		} else {
			args = append(args, strings.Fields(part)...)
		}
	}
	return args
}
