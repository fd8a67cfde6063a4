package kubectl

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
)

// world is one whose sandbox has a kubeconfig, for the API server at that URL.
func world(t *testing.T, server string) clitest.World {
	t.Helper()
	w := clitest.ZonesUSEU()
	w.Status.Dir = t.TempDir()
	w.Status.Kubeconfig = filepath.Join(w.Status.Dir, "kubeconfig")
	text := `apiVersion: v1
kind: Config
current-context: vsphere-sandbox-default
clusters: [{name: c, cluster: {server: "` + server + `"}}]
contexts: [{name: vsphere-sandbox-default, context: {cluster: c, user: u}}]
users: [{name: u, user: {}}]
`
	if err := os.WriteFile(w.Status.Kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestRun(t *testing.T) {
	w := world(t, "https://127.0.0.1:1")
	s := clitest.Serve(t, w)
	e := clitest.NewEnv(s)
	released := false
	e.Release = func() { released = true }
	env := map[string]string{}
	var got []string
	status := 0
	run := func(ctx context.Context, o *options) error {
		o.setenv = func(k, v string) error { env[k] = v; return nil }
		o.main = func(_ *iostreams.Streams, args []string) int { got = args; return status }
		return run(ctx, o)
	}
	args := []string{"get", "nodes", "-o", "json", "--name", "x", "-h"}
	if r := e.Run(t.Context(), NewCmdKubectl(e.Deps, run), args...); r.Exit != 0 {
		t.Fatalf("ended with %+v", r)
	}
	if d := cmp.Diff(args, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]string{"KUBECONFIG": w.Status.Kubeconfig, "KUBECACHEDIR": filepath.Join(w.Status.Dir, "kubectl-cache")}, env); d != "" {
		t.Error(d)
	}
	if info, err := os.Stat(env["KUBECACHEDIR"]); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("its cache: %v, %v", info, err)
	}
	if !released {
		t.Error("Ctrl-C was not given back")
	}
	status = 7
	if r := e.Run(t.Context(), NewCmdKubectl(e.Deps, run), "diff"); r.Exit != 7 || r.Message != "" {
		t.Errorf("ended with %+v", r)
	}
}

func TestWithoutASandbox(t *testing.T) {
	e := clitest.NewEnv(nil)
	ran := false
	run := func(ctx context.Context, o *options) error {
		o.main = func(*iostreams.Streams, []string) int { ran = true; return 0 }
		return run(ctx, o)
	}
	for args, want := range map[string]bool{
		"": true, "get --help": true, "help get": true, "options": true, "version --client": true,
		"version": false, "get nodes": false, "config view": false,
	} {
		ran = false
		r := e.Run(t.Context(), NewCmdKubectl(e.Deps, run), strings.Fields(args)...)
		if ran != want || !want && r.Code != "no-sandbox" {
			t.Errorf("%q: ran = %v, ended with %+v", args, ran, r)
		}
	}
}

func TestNoKubeconfigYet(t *testing.T) {
	e := clitest.NewEnv(clitest.Serve(t, clitest.ZonesUSEU()))
	if r := e.Run(t.Context(), NewCmdKubectl(e.Deps, nil), "get", "nodes"); r.Code != "unavailable" || r.Exit != report.Failure {
		t.Errorf("ended with %+v", r)
	}
}

// TestRealKubectl runs the real kubectl against an API server that knows one thing.
func TestRealKubectl(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/version" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"major":"1","minor":"36","gitVersion":"v1.36.4"}`))
			return
		}
		http.NotFound(w, r)
	}))
	defer server.Close()
	w := world(t, server.URL)
	t.Setenv("KUBECONFIG", w.Status.Kubeconfig)
	t.Setenv("KUBECACHEDIR", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	for _, tc := range []struct {
		args        string
		status      int
		out, errOut string
	}{
		{args: "get --raw /version", out: `"gitVersion":"v1.36.4"`},
		{args: "config current-context", out: "vsphere-sandbox-default"},
		{args: "get --help", out: "kubectl get"},
		{args: "get nodes --bogus", status: 1, errOut: "unknown flag: --bogus"},
		{args: "nonsense", status: 1, errOut: `unknown command "nonsense" for "kubectl"`},
		{args: "get --raw /nothing", status: 1, errOut: "NotFound"},
	} {
		t.Run(tc.args, func(t *testing.T) {
			streams, _, out, errOut := iostreams.Test()
			if status := Main(streams, strings.Fields(tc.args)); status != tc.status {
				t.Errorf("status = %d\n%s%s", status, out, errOut)
			}
			if !strings.Contains(out.String(), tc.out) || !strings.Contains(errOut.String(), tc.errOut) {
				t.Errorf("out:\n%s\nerr:\n%s", out, errOut)
			}
			if text := out.String() + errOut.String(); strings.Contains(text, "vsphere-sandbox get") {
				t.Errorf("the wrong command name:\n%s", text)
			}
		})
	}
}

func TestCompletion(t *testing.T) {
	t.Setenv("KUBECONFIG", "") // the command sets it again
	t.Setenv("KUBECACHEDIR", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	e := clitest.NewEnv(clitest.Serve(t, world(t, "https://127.0.0.1:1")))
	cmd := NewCmdKubectl(e.Deps, nil)
	cmd.SetContext(t.Context())
	words, directive := cmd.ValidArgsFunction(cmd, []string{"config"}, "current")
	if len(words) != 1 || !strings.HasPrefix(words[0], "current-context") || directive != cobra.ShellCompDirectiveNoFileComp {
		t.Errorf("words %q, directive %d", words, directive)
	}
	e = clitest.NewEnv(nil)
	cmd = NewCmdKubectl(e.Deps, nil)
	cmd.SetContext(t.Context())
	if words, _ := cmd.ValidArgsFunction(cmd, []string{"get"}, ""); words != nil {
		t.Errorf("words %q without a sandbox", words)
	}
}
