package get

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
)

func TestOptions(t *testing.T) {
	for _, tc := range []struct {
		args string
		want options
		exit int
	}{
		{args: "", want: options{flags: output.Flags{Format: "table"}}},
		{args: "a b -o wide", want: options{names: []string{"a", "b"}, flags: output.Flags{Format: "wide"}}},
		{args: "-w --no-headers", want: options{watch: true, flags: output.Flags{Format: "table", NoHeaders: true}}},
		{args: "-o xml", exit: report.Usage},
	} {
		t.Run(tc.args, func(t *testing.T) {
			e := clitest.NewEnv(nil)
			var got *options
			cmd := NewCmdNodes(e.Deps, func(_ context.Context, o *options) error { got = o; return nil })
			if r := e.Run(t.Context(), cmd, strings.Fields(tc.args)...); r.Exit != tc.exit {
				t.Fatalf("ended with %+v", r)
			}
			if tc.exit != 0 {
				return
			}
			if d := cmp.Diff(tc.want.names, got.names, cmp.Transformer("nil", func(s []string) string { return strings.Join(s, " ") })); d != "" {
				t.Error(d)
			}
			if got.flags != tc.want.flags || got.watch != tc.want.watch {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestGet(t *testing.T) {
	s := clitest.Serve(t, clitest.ZonesUSEU())
	for _, kind := range []string{"vcenters", "datacenters", "hosts", "vms", "nodes", "zones", "datastores", "volumes", "nsx", "virtualmachines", "virtualmachineservices"} {
		for _, format := range []string{"table", "wide", "json", "yaml", "name"} {
			t.Run(kind+"/"+format, func(t *testing.T) {
				e := clitest.NewEnv(s)
				if r := e.Run(t.Context(), NewCmdGet(e.Deps), kind, "-o", format); r.Exit != 0 {
					t.Fatalf("ended with %+v", r)
				}
				clitest.Golden(t, kind+"."+format, e.Out.String())
			})
		}
	}
}

func TestNames(t *testing.T) {
	s := clitest.Serve(t, clitest.ZonesUSEU())
	for _, tc := range []struct{ args, want string }{
		{"vms worker-1", "vm/worker-1\n"},
		{"vm worker-1.example eu/worker-1 /folder/dceu/vm/worker-1", "vm/worker-1\n"},
		{"vms worker-1 control-plane-1", "vm/worker-1\nvm/control-plane-1\n"},
		{"no worker-1", "node/worker-1.example\n"},
		{"dc us/dcwest", "datacenter/dcwest\n"},
		{"host eu/esx-3", "host/esx-3\n"},
		{"zone us/us-west", "zone/us-west\n"},
		{"vc eu", "vcenter/eu\n"},
		{"ds eu/eu-all-ds", "datastore/eu-all-ds\n"},
		{"nsx default/web", "nsx/infra/ip-pools/services/ip-allocations/a1\nnsx/infra/lb-virtual-servers/v1\n"},
		{"virtualmachine worker-1.example us/worker-1 team-a/worker-2", "virtualmachine/worker-1\nvirtualmachine/worker-2\n"},
		{"virtualmachineservices default/web", "virtualmachineservice/guest-1\n"},
		{"pvc data logs 6c1e2a0f-0001", "volume/pvc-1\nvolume/default/logs\n"},
	} {
		t.Run(tc.args, func(t *testing.T) {
			e := clitest.NewEnv(s)
			if r := e.Run(t.Context(), NewCmdGet(e.Deps), append(strings.Fields(tc.args), "-o", "name")...); r.Exit != 0 {
				t.Fatalf("ended with %+v", r)
			}
			if d := cmp.Diff(tc.want, e.Out.String()); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestUnknown(t *testing.T) {
	s := clitest.Serve(t, clitest.ZonesUSEU())
	for _, tc := range []struct {
		args string
		want report.Record
	}{
		{"vms wroker-1", report.Record{Code: "not-found", Message: `VM "wroker-1" not found; did you mean "worker-1"?`, Try: "vsphere-sandbox get vms", Exit: 1}},
		{"zones mars", report.Record{Code: "not-found", Message: `zone "mars" not found`, Try: "vsphere-sandbox get zones", Exit: 1}},
		{"node", report.Record{}},
		{"nods", report.Record{Code: "usage", Message: `unknown command "get nods"`, Try: "get nodes", Exit: 2}},
	} {
		t.Run(tc.args, func(t *testing.T) {
			e := clitest.NewEnv(s)
			if d := cmp.Diff(tc.want, e.Run(t.Context(), NewCmdGet(e.Deps), strings.Fields(tc.args)...)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestEmpty(t *testing.T) {
	s := clitest.Serve(t, clitest.World{})
	for _, tc := range []struct{ format, out, err string }{
		{"table", "", "no nodes\n"},
		{"json", "{\n  \"apiVersion\": \"sandbox.vsphere/v1alpha1\",\n  \"kind\": \"NodeList\",\n  \"items\": []\n}\n", "no nodes\n"},
	} {
		e := clitest.NewEnv(s)
		if r := e.Run(t.Context(), NewCmdGet(e.Deps), "nodes", "-o", tc.format); r.Exit != 0 {
			t.Fatalf("ended with %+v", r)
		}
		if d := cmp.Diff([]string{tc.out, tc.err}, []string{e.Out.String(), e.Err.String()}); d != "" {
			t.Error(d)
		}
	}
}

func TestHelpOfTheGroup(t *testing.T) {
	e := clitest.NewEnv(nil)
	if r := e.Run(t.Context(), NewCmdGet(e.Deps)); r.Exit != 0 || !strings.Contains(e.Out.String(), "kubeconfig") {
		t.Errorf("ended with %+v and\n%s", r, e.Out)
	}
}

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
