package get

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
)

const admin = `apiVersion: v1
kind: Config
current-context: vsphere-sandbox-default
clusters: [{name: vsphere-sandbox-default, cluster: {server: "https://127.0.0.1:6443"}}]
contexts: [{name: vsphere-sandbox-default, context: {cluster: vsphere-sandbox-default, user: admin}}]
users: [{name: admin, user: {token: secret}}]
`

func TestKubeconfig(t *testing.T) {
	w := clitest.ZonesUSEU()
	w.Status.Kubeconfig = filepath.Join(t.TempDir(), "admin")
	mine := filepath.Join(t.TempDir(), "config")
	s := clitest.Serve(t, w)
	run := func(s *clitest.Server, args ...string) (*clitest.Env, report.Record) {
		e := clitest.NewEnv(s)
		e.Vars["KUBECONFIG"] = mine
		return e, e.Run(t.Context(), NewCmdKubeconfig(e.Deps, nil), args...)
	}
	if _, r := run(s); r.Code != "unavailable" {
		t.Errorf("before there is one: %+v", r)
	}
	if err := os.WriteFile(w.Status.Kubeconfig, []byte(admin), 0o600); err != nil {
		t.Fatal(err)
	}
	if e, r := run(s); r.Exit != 0 || e.Out.String() != admin {
		t.Errorf("%+v and %q", r, e.Out)
	}
	if e, r := run(s, "--merge"); r.Exit != 0 || e.Out.Len() > 0 || !strings.Contains(e.Err.String(), "context vsphere-sandbox-default is in "+mine) {
		t.Errorf("%+v and %q, %q", r, e.Out, e.Err)
	}
	if text, _ := os.ReadFile(mine); !strings.Contains(string(text), "current-context: vsphere-sandbox-default") {
		t.Errorf("merged:\n%s", text)
	}
	// The sandbox need not run for this.
	if e, r := run(nil, "--unmerge"); r.Exit != 0 || !strings.Contains(e.Err.String(), "is out of") {
		t.Errorf("%+v and %q", r, e.Err)
	}
	if e, r := run(s, "--unmerge"); r.Exit != 0 || !strings.Contains(e.Err.String(), "is not in") {
		t.Errorf("%+v and %q", r, e.Err)
	}
	if _, r := run(s, "--merge", "--unmerge"); r.Exit != report.Usage {
		t.Errorf("both: %+v", r)
	}
	if _, r := run(nil, "--merge"); r.Code != "no-sandbox" {
		t.Errorf("no sandbox: %+v", r)
	}
}
