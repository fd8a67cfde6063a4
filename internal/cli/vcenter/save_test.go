package vcenter

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/store"
)

const savedTopology = `apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: test}
spec:
  vcenters:
  - name: us
    datacenters:
    - name: dc1
      region: r1
      clusters: [{name: c1, zone: a, hosts: [{name: h1.corp.example}]}]
      vms: [{name: web, cluster: c1}]
`

// savable is a sandbox with one vCenter that can be asked.
func savable(t *testing.T) (*clitest.Env, *sim.Lab) {
	t.Helper()
	lab := sim.Start(t, savedTopology)
	v, _ := lab.VCenter("us")
	world := clitest.ZonesUSEU()
	world.Access = []api.Access{{VCenter: "us", URL: v.URL().String(), User: v.User(), Password: v.Password(), CAFile: lab.CAFile}}
	return clitest.NewEnv(clitest.Serve(t, world)), lab
}

func TestSave(t *testing.T) {
	e, lab := savable(t)
	dir := filepath.Join(t.TempDir(), "saved")
	run := func(args ...string) (string, report.Record) {
		t.Helper()
		e.Out.Reset()
		r := e.Run(t.Context(), NewCmdSave(e.Deps, nil), args...)
		return strings.ReplaceAll(e.Out.String(), dir, "DIR"), r
	}
	text, r := run(dir)
	if r.Exit != report.OK {
		t.Fatalf("ended with %+v", r)
	}
	clitest.Golden(t, "save", text)
	saved, err := store.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	v, _ := lab.VCenter("us")
	if saved.Name() != "us" || saved.InstanceUUID() != v.InstanceUUID() || len(saved.Tags().Tags) != 2 {
		t.Errorf("saved %s, %s, %d tags", saved.Name(), saved.InstanceUUID(), len(saved.Tags().Tags))
	}

	if _, r := run("us", dir); r.Code != "exists" || r.Exit != report.Usage || !strings.Contains(r.Try, "--force") {
		t.Errorf("ended with %+v", r)
	}
	text, r = run("us", dir, "--force", "--scrub", "-o", "json")
	if r.Exit != report.OK {
		t.Fatalf("ended with %+v", r)
	}
	clitest.Golden(t, "save-json", text)
	b, err := os.ReadFile(filepath.Join(dir, "sandbox.json"))
	if err != nil || !strings.Contains(string(b), `"scrubbed": true`) {
		t.Errorf("not scrubbed: %v", err)
	}

	if err := v.Gate().Set(t.Context(), gate.Mode{State: gate.Down}); err != nil {
		t.Fatal(err)
	}
	if _, r := run("us", dir, "--force"); r.Code != "not-saved" || r.Exit != report.Failure || r.Why == "" {
		t.Errorf("ended with %+v", r)
	}
	if _, err := store.Load(dir); err != nil {
		t.Errorf("what was saved before is gone: %v", err)
	}
}

func TestSaveProgress(t *testing.T) {
	e, _ := savable(t)
	e.Streams.SetTTY(false, false, true)
	if r := e.Run(t.Context(), NewCmdSave(e.Deps, nil), "us", filepath.Join(t.TempDir(), "saved")); r.Exit != report.OK {
		t.Fatalf("ended with %+v", r)
	}
	if text := e.Err.String(); !strings.HasPrefix(text, "\rsaving 50 of ") || !strings.HasSuffix(text, "\r\x1b[K") {
		t.Errorf("said %q", text)
	}
}

func TestSaveUsage(t *testing.T) {
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "thesis.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	e, _ := savable(t)
	two := clitest.NewEnv(clitest.Serve(t, clitest.ZonesUSEU()))
	for _, tc := range []struct {
		name string
		env  *clitest.Env
		args []string
		want report.Record
	}{
		{"no folder", two, nil, report.Record{
			Code: "usage", Message: "needs the name of a vCenter and a folder to save it in", Exit: report.Usage,
			Try: "vsphere-sandbox vcenter save us us-saved",
		}},
		{"one of several", two, []string{"d"}, report.Record{
			Code: "usage", Message: "which vCenter? there are us, eu", Exit: report.Usage, Try: "vsphere-sandbox vcenter save us d",
		}},
		{"no such vCenter", two, []string{"usa", "d"}, report.Record{
			Code: "not-found", Message: `vCenter "usa" not found`, Exit: report.Failure, Try: "--vcenter us",
		}},
		{"a folder with something else", e, []string{foreign, "--force"}, report.Record{
			Code: "exists", Exit: report.Usage, Try: "another folder, or remove it yourself",
			Message: "folder " + foreign + " holds something else than a saved inventory, and is not replaced",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := tc.env.Run(t.Context(), NewCmdSave(tc.env.Deps, nil), tc.args...)
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}
