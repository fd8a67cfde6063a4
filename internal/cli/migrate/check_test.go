package migrate

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate/check"
)

// sick is a report with one finding of each verdict.
func sick() *check.Report {
	return &check.Report{
		Cluster: "prod", Version: "v1.24.17", InTree: true, VCenters: []check.VCenter{{Name: "vc", Server: "vc.example:443"}},
		Nodes: []check.Node{
			{Name: "cp-1", ControlPlane: true, ProviderID: "vsphere://42", VM: &check.VM{VCenter: "vc", Path: "/dc/vm/cp-1", Match: "uuid", HardwareVersion: "vmx-19", DiskUUID: true, Region: "eu", Zone: "a"}},
			{Name: "worker-1"},
		},
		Volumes: []check.Volume{{Name: "pv-1", Path: "[ds] kubevols/1.vmdk", VCenter: "vc", Disk: "found", Phase: "Bound", Claim: "app/data", Pods: []string{"app/db-0"}}},
		Classes: []check.Class{{Name: "old"}},
		Findings: []check.Finding{
			{Check: "login", Verdict: check.Pass, Where: "vc", Found: "lets us in"},
			{Check: "ccm", Verdict: check.Warn, Where: "cluster", Found: "none", Why: "nodes are never initialized", Try: "install it"},
			{Check: "nodes", Verdict: check.Fail, Where: "cluster", Found: "1 of 2 nodes", Why: "it is deleted", Try: "look for its VM", Objects: []string{"worker-1"}},
		},
	}
}

func TestCheckOutput(t *testing.T) {
	clitest.Golden(t, "check.text", checkText(sick()))
	for _, format := range []string{output.JSON, output.YAML} {
		var b bytes.Buffer
		if err := output.Object(&b, format, "MigrationCheck", sick()); err != nil {
			t.Fatal(err)
		}
		clitest.Golden(t, "check."+format, b.String())
	}
	if r := report.Of(failed(sick())); r.Exit != report.Degraded || r.Code != "not-ready" {
		t.Errorf("%+v", r)
	}
	if err := failed(&check.Report{}); err != nil {
		t.Error(err)
	}
}

func TestHelp(t *testing.T) {
	for _, name := range []string{"check", "plan"} {
		e := clitest.NewEnv(nil)
		if r := e.Run(t.Context(), NewCmdMigrate(e.Deps), name, "--help"); r.Exit != 0 {
			t.Fatal(r)
		}
		clitest.Golden(t, name+".help", e.Out.String())
	}
}

func TestCheckOptions(t *testing.T) {
	e := clitest.NewEnv(nil)
	var o *checkOptions
	r := e.Run(t.Context(), NewCmdCheck(e.Deps, func(_ context.Context, given *checkOptions) error { o = given; return nil }),
		"old", "--kubeconfig", "a", "--context", "b", "--vcenter-config", "c", "--folder", "d", "--csi-vcenter-config", "e", "-o", "json")
	if r.Exit != 0 {
		t.Fatal(r)
	}
	if d := cmp.Diff([]any{"old", "a", "b", true, "e", "json"}, []any{o.old, o.kubeconfig, o.context, o.real.IsSet(), o.csi, o.format}); d != "" {
		t.Error(d)
	}
	var p *planOptions
	r = e.Run(t.Context(), NewCmdPlan(e.Deps, func(_ context.Context, given *planOptions) error { p = given; return nil }),
		"old", "--context", "b", "--files", "f", "--cluster-id", "g", "--out", "h", "--force")
	if r.Exit != 0 {
		t.Fatal(r)
	}
	if d := cmp.Diff([]any{"old", "b", "f", "g", "h", true, ""}, []any{p.old, p.context, p.files, p.clusterID, p.out, p.force, p.format}); d != "" {
		t.Error(d)
	}
}

// kubeconfigOf writes one that leads to an API server.
func kubeconfigOf(t *testing.T, server string) string {
	t.Helper()
	file := t.TempDir() + "/kubeconfig"
	text := "apiVersion: v1\nkind: Config\ncurrent-context: lab\ncontexts: [{name: lab, context: {cluster: lab, user: me}}]\n" +
		"clusters: [{name: lab, cluster: {server: \"" + server + "\"}}]\nusers: [{name: me, user: {token: t}}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestCheckRefused(t *testing.T) {
	silent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"no"}`, http.StatusForbidden)
	}))
	defer silent.Close()
	config := kubeconfigOf(t, silent.URL)
	defer world(t)()
	e := []string{"check", "plan old.conf"}
	for args, want := range map[string]string{
		e[0]:                                    "no-sandbox",
		e[1]:                                    "no-sandbox",
		"plan":                                  "usage",
		"check a b":                             "usage",
		"check --folder f":                      "usage",
		"check nosuch --context x":              "cloud-config-unreadable",
		"check --kubeconfig nosuch":             "kubeconfig-invalid",
		"check --kubeconfig " + config:          "usage",
		"plan unknown.conf":                     "cloud-config-invalid",
		"plan new.conf":                         "already-migrated",
		"check old.conf --kubeconfig " + config: "cluster-forbidden",
		"check --vcenter-config env --kubeconfig " + config: "vcenter-config-invalid",
		"check unknown.conf --kubeconfig " + config:         "cloud-config-invalid",
		"check unknown.conf --force --kubeconfig " + config: "cluster-forbidden",
		"check pool.conf --kubeconfig " + config:            "cluster-forbidden",
		"check balancer.conf --kubeconfig " + config:        "cluster-forbidden",
		"check new.conf --kubeconfig " + config:             "cluster-forbidden",
		"check empty.conf --kubeconfig " + config:           "cloud-config-invalid",
		"plan unknown.conf --force --kubeconfig " + config:  "cluster-forbidden",
		"plan pool.conf --kubeconfig " + config:             "cluster-forbidden",
		"check --force":                                     "usage",
	} {
		e := clitest.NewEnv(nil)
		r := e.Run(t.Context(), NewCmdMigrate(e.Deps), strings.Fields(args)...)
		if r.Code != want || r.Exit == 0 {
			t.Errorf("%s: %+v, want %s", args, r, want)
		}
		if strings.Contains(e.Out.String()+e.Err.String()+r.Message+r.Why, "hunter2") {
			t.Errorf("%s: told a password", args)
		}
	}
}

// TestClusterIsOnlyRead has the client of a cluster refuse what is more than a read.
func TestClusterIsOnlyRead(t *testing.T) {
	var methods []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		methods = append(methods, r.Method)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"NodeList","apiVersion":"v1","items":[]}`))
	}))
	defer server.Close()
	c, err := openCluster(kubeconfigOf(t, server.URL), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err != nil || c.Name != "lab" {
		t.Errorf("%s: %v", c.Name, err)
	}
	if err := c.Client.CoreV1().Nodes().Delete(t.Context(), "a", metav1.DeleteOptions{}); err == nil || !strings.Contains(err.Error(), "only reads") {
		t.Error(err)
	}
	if d := cmp.Diff([]string{http.MethodGet}, methods); d != "" {
		t.Error(d)
	}
}
