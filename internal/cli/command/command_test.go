package command_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

func TestFind(t *testing.T) {
	box := func(name string, running bool) command.Sandbox { return command.Sandbox{Name: name, Running: running} }
	for _, tc := range []struct {
		name       string
		flag, env  string
		sandboxes  []command.Sandbox
		want, code string
		try        string
	}{
		{name: "none", code: "no-sandbox", try: "vsphere-sandbox up"},
		{name: "the only one", sandboxes: []command.Sandbox{box("a", true)}, want: "a"},
		{name: "the only one that runs", sandboxes: []command.Sandbox{box("a", true), box("default", false)}, want: "a"},
		{name: "the default of several", sandboxes: []command.Sandbox{box("a", true), box("default", true)}, want: "default"},
		{
			name: "several", sandboxes: []command.Sandbox{box("a", true), box("b", true), box("default", false)},
			code: "ambiguous", try: "name one: --name a, or export VSPHERE_SANDBOX_NAME=a",
		},
		{name: "a dead default", sandboxes: []command.Sandbox{box("default", false), box("x", false)}, want: "default"},
		{name: "another dead one", sandboxes: []command.Sandbox{box("x", false)}, code: "no-sandbox", try: "vsphere-sandbox status --name x   # which crashed\nvsphere-sandbox up"},
		{name: "by flag", flag: "b", env: "a", sandboxes: []command.Sandbox{box("a", true), box("b", true)}, want: "b"},
		{name: "by environment", env: "b", sandboxes: []command.Sandbox{box("a", true), box("b", true)}, want: "b"},
		{name: "a dead one by flag", flag: "x", sandboxes: []command.Sandbox{box("a", true), box("x", false)}, want: "x"},
		{name: "a wrong name", flag: "labb", sandboxes: []command.Sandbox{box("lab", true)}, code: "no-sandbox", try: "--name lab"},
		{name: "a new name", flag: "moon", sandboxes: []command.Sandbox{box("lab", true)}, code: "no-sandbox", try: "vsphere-sandbox up --name moon"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := clitest.NewEnv(nil)
			e.State.Items = tc.sandboxes
			e.NameFlag = tc.flag
			e.Vars[command.NameEnv] = tc.env
			s, err := e.Find(t.Context())
			r := report.Of(err)
			if d := cmp.Diff([]string{tc.want, tc.code, tc.try}, []string{s.Name, r.Code, r.Try}); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestConnectToADeadSandbox(t *testing.T) {
	e := clitest.NewEnv(nil)
	e.State.Items = []command.Sandbox{{Name: "default"}}
	_, err := e.Connect(t.Context())
	if r := report.Of(err); r.Code != "crashed" || r.Try != "vsphere-sandbox logs --name default\nvsphere-sandbox doctor --bundle vsphere-sandbox-bug.tar.gz --name default\nvsphere-sandbox down --name default   # removes what it left" {
		t.Errorf("got %+v", r)
	}
	e.State.Err = errors.New("permission denied")
	if _, err := e.Connect(t.Context()); !errors.Is(err, e.State.Err) {
		t.Errorf("err = %v", err)
	}
}

// target returns one whose sandbox answers with h, or whose socket is missing when h is nil.
func target(t *testing.T, h http.HandlerFunc) *command.Target {
	t.Helper()
	dir, err := os.MkdirTemp("", "command")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	if h != nil {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{Handler: h}
		done := make(chan struct{})
		go func() { defer close(done); _ = server.Serve(l) }()
		t.Cleanup(func() { server.Close(); <-done })
	}
	return &command.Target{Sandbox: command.Sandbox{Name: "lab"}, Client: api.NewClient(socket)}
}

func TestAsk(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tc := range []struct {
		name    string
		handler http.HandlerFunc
		ctx     context.Context
		code    string
	}{
		{name: "an answer", handler: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{}`)) }},
		{name: "no socket", code: "unreachable"},
		{name: "cut off", handler: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, code: "unreachable"},
		{name: "refused", handler: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusConflict)
			_, _ = w.Write([]byte(`{"code":"conflict","message":"no"}`))
		}, code: "conflict"},
		{name: "odd", handler: http.NotFound, code: "failed"},
		{name: "interrupted", ctx: canceled, code: "interrupted"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ctx := tc.ctx
			if ctx == nil {
				ctx = t.Context()
			}
			_, err := command.Ask(ctx, target(t, tc.handler), (*api.Client).Status)
			if r := report.Of(err); r.Code != tc.code {
				t.Errorf("got %+v", r)
			}
		})
	}
}

func TestASilentSandbox(t *testing.T) {
	target := target(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := target.Client.Status(ctx)
	r := report.Of(target.Explain(t.Context(), err, time.Second))
	if r.Code != "not-answering" || r.Message != `sandbox "lab" does not answer within 1s` {
		t.Errorf("got %+v", r)
	}
}

func TestPick(t *testing.T) {
	items := []string{"a", "b", "c"}
	names := func(s string) []string { return []string{s, "x/" + s} }
	for _, tc := range []struct {
		names, want []string
		err         string
	}{
		{nil, items, ""},
		{[]string{"c", "x/a"}, []string{"c", "a"}, ""},
		{[]string{"a", "x/a"}, []string{"a"}, ""},
		{[]string{"a", "x/d"}, nil, `letter "x/d" not found; did you mean "x/a"?`},
	} {
		got, err := command.Pick("letter", items, tc.names, names)
		if d := cmp.Diff(tc.want, got); d != "" || tc.err != "" && (err == nil || err.Error() != tc.err) {
			t.Errorf("%v: %s, %v", tc.names, d, err)
		}
	}
}

func TestArguments(t *testing.T) {
	for _, tc := range []struct {
		name string
		args cobra.PositionalArgs
		have []string
		want string
	}{
		{"none", command.NoArgs, nil, ""},
		{"one too many", command.NoArgs, []string{"a"}, `x: unexpected argument "a"`},
		{"one of one", command.AtMostOne, []string{"a"}, ""},
		{"two of one", command.AtMostOne, []string{"a", "b"}, `x: unexpected argument "b"`},
		{"many", command.AtLeastOne("VM"), []string{"a", "b"}, ""},
		{"too few", command.AtLeastOne("VM"), nil, "x needs a VM"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := tc.args(&cobra.Command{Use: "x"}, tc.have)
			if r := report.Of(err); r.Message != tc.want || tc.want != "" && r.Exit != report.Usage {
				t.Errorf("got %+v", r)
			}
		})
	}
}

// A sandbox whose process was stopped, as by Ctrl-Z, is reported at once, and not after the time that it has to answer.
func TestASuspendedSandbox(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket) // it accepts, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cmd := exec.CommandContext(t.Context(), "sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	target := &command.Target{Sandbox: command.Sandbox{Name: "lab", PID: cmd.Process.Pid, Socket: socket, Running: true}, Client: api.NewClient(socket)}
	began := time.Now()
	_, err = command.Do(t.Context(), target, (*api.Client).Status)
	if r := report.Of(err); r.Code != "suspended" || !strings.Contains(r.Try, fmt.Sprintf("kill -CONT %d", cmd.Process.Pid)) {
		t.Errorf("ended with %+v", r)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestAsTyped(t *testing.T) {
	const try = "vsphere-sandbox down --name a\n--name b, or (vsphere-sandbox up)\ncat /opt/vsphere-sandbox here, my-vsphere-sandbox x"
	for arg0, want := range map[string]string{
		"vsphere-sandbox":       try,
		"/tmp/cli.test":         try,
		"./bin/vsphere-sandbox": "./bin/vsphere-sandbox down --name a\n--name b, or (./bin/vsphere-sandbox up)\ncat /opt/vsphere-sandbox here, my-vsphere-sandbox x",
	} {
		if got := command.AsTyped(try, arg0); got != want {
			t.Errorf("%s: %q, want %q", arg0, got, want)
		}
	}
}
