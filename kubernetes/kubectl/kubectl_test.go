package kubectl

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	cmdutil "k8s.io/kubectl/pkg/cmd/util"
)

// kubectl runs against an API server that knows one thing, under its own name.
func TestRun(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/version" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"major":"1","minor":"37","gitVersion":"v1.37.2"}`))
			return
		}
		http.NotFound(w, r)
	}))
	defer server.Close()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	text := `apiVersion: v1
kind: Config
current-context: vsphere-sandbox-default
clusters: [{name: c, cluster: {server: "` + server.URL + `"}}]
contexts: [{name: vsphere-sandbox-default, context: {cluster: c, user: u}}]
users: [{name: u, user: {}}]
`
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", kubeconfig)
	t.Setenv("KUBECACHEDIR", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	for _, tc := range []struct {
		args        string
		status      int
		out, errOut string
	}{
		{args: "get --raw /version", out: `"gitVersion":"v1.37.2"`},
		{args: "config current-context", out: "vsphere-sandbox-default"},
		{args: "get --help", out: "kubectl get"},
		{args: "get nodes --bogus", status: 1, errOut: "unknown flag: --bogus"},
		{args: "nonsense", status: 1, errOut: `unknown command "nonsense" for "kubectl"`},
		{args: "get --raw /nothing", status: 1, errOut: "NotFound"},
		{args: "__complete config current", out: "current-context"},
	} {
		t.Run(tc.args, func(t *testing.T) {
			var out, errOut bytes.Buffer
			if status := status(func() error { return Run(strings.Fields(tc.args), nil, &out, &errOut) }, &errOut); status != tc.status {
				t.Errorf("status = %d\n%s%s", status, &out, &errOut)
			}
			if !strings.Contains(out.String(), tc.out) || !strings.Contains(errOut.String(), tc.errOut) {
				t.Errorf("out:\n%s\nerr:\n%s", &out, &errOut)
			}
		})
	}
}

// status runs kubectl, and returns the exit status that it would end the process with.
func status(run func() error, errOut *bytes.Buffer) (code int) {
	type exited int
	defer cmdutil.DefaultBehaviorOnFatal()
	cmdutil.BehaviorOnFatal(func(message string, code int) {
		errOut.WriteString(message)
		panic(exited(code))
	})
	defer func() {
		if p := recover(); p != nil {
			code = int(p.(exited))
		}
	}()
	if run() != nil {
		return 1
	}
	return 0
}
