package topology

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/source"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

const parametrized = `apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: mine, description: "costs $${5}"}
include: [parts/net.yaml]
parameters:
  - {name: workers, default: 2}
spec:
  vcenters:
    - name: vc
      datacenters:
        - name: dc
          hosts: [{name: esx-1}]
          vms:
            - name: worker
              replicas: ${workers}
              role: worker
`

const bad = `apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: bad}
spec:
  vcenters:
    - name: vc
      datacenters:
        - name: dc
          host: [{name: esx-1}]
          vms: [{name: a, cpus: many}]
`

// files writes topologies into a new folder, and changes to it.
func files(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"mine.yaml": parametrized, "bad.yaml": bad, "parts/net.yaml": "spec: {vcenters: [{name: vc, datacenters: [{name: dc, networks: [{name: blue}]}]}]}\n",
		"worse.yaml": "include: [parts/net.yml]\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
}

// run runs a command of the group where the files are, and returns what it printed and what it ended with.
func run(t *testing.T, args ...string) (string, report.Record) {
	t.Helper()
	e := clitest.NewEnv(nil)
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	files(t)
	r := e.Run(t.Context(), NewCmdTopology(e.Deps), args...)
	if e.Err.Len() > 0 {
		t.Errorf("said %q", e.Err)
	}
	t.Chdir(here) // where the golden files are
	return e.Out.String(), r
}

func TestOutput(t *testing.T) {
	for name, args := range map[string]string{
		"list":            "list",
		"list.wide":       "list -o wide",
		"list.json":       "list -o json",
		"validate":        "validate mine.yaml single",
		"validate.json":   "validate -o json mine.yaml bad.yaml absent.yaml worse.yaml nosuch",
		"validate.yaml":   "validate -o yaml mine.yaml --set workers=3",
		"render":          "render mine.yaml",
		"render.json":     "render mine.yaml -o json --set workers=1",
		"graph":           "graph mine.yaml --set workers=120",
		"graph.default":   "graph",
		"graph.zones":     "graph zones-per-cluster",
		"validate.failed": "validate -o yaml bad.yaml",
	} {
		t.Run(name, func(t *testing.T) {
			got, r := run(t, strings.Fields(args)...)
			want := report.Record{}
			if name == "validate.json" || name == "validate.failed" {
				want.Exit = report.Usage
			}
			if diff := cmp.Diff(want, r); diff != "" {
				t.Errorf("ended with (-want +got):\n%s", diff)
			}
			clitest.Golden(t, name, got)
		})
	}
}

func TestRefused(t *testing.T) {
	for _, tc := range []struct{ args, out, code, message, try string }{
		{args: "validate bad.yaml", code: "topology-invalid", message: `topology bad.yaml cannot be used
bad.yaml:9:11: spec.vcenters[0].datacenters[0].host: unknown key (did you mean "hosts"?)
bad.yaml:10:33: spec.vcenters[0].datacenters[0].vms[0].cpus: must be a whole number, not the text "many"`},
		{args: "validate single bad.yaml worse.yaml", code: "topology-invalid", out: "single can be used: 1 vCenter, 1 datacenter, 2 VMs, 2 nodes\n", message: `topology bad.yaml cannot be used
bad.yaml:9:11: spec.vcenters[0].datacenters[0].host: unknown key (did you mean "hosts"?)
bad.yaml:10:33: spec.vcenters[0].datacenters[0].vms[0].cpus: must be a whole number, not the text "many"
topology worse.yaml cannot be used
worse.yaml:1:11: include[0]: there is no file parts/net.yml (did you mean "parts/net.yaml"?)`},
		{args: "validate singel", code: "usage", message: `topology "singel": no built-in topology`, try: "vsphere-sandbox topology validate single"},
		{args: "validate power-off", code: "usage", message: `"power-off" is a scenario, not a topology`, try: "vsphere-sandbox scenario validate power-off"},
		{args: "render lifecycle/power-off", code: "usage", message: `"lifecycle/power-off" is a scenario, not a topology`, try: "vsphere-sandbox scenario show lifecycle/power-off"},
		{args: "list x", code: "usage", message: `list: unexpected argument "x"`},
		{args: "validate", code: "usage", message: "validate needs a TOPOLOGY or FILE"},
		{args: "render mine.yaml single", code: "usage", message: `render: unexpected argument "single"`},
		{args: "render singel", code: "usage", message: `topology "singel"`, try: "vsphere-sandbox topology render single"},
		{args: "render absent.yaml", code: "topology-unreadable", message: "absent.yaml"},
		{args: "render mine.yaml --set workers=many", code: "topology-invalid", message: `mine.yaml:6:5: parameters[0]: parameter "workers", as it was set, must be a whole number, not "many"`},
		{args: "render mine.yaml --set worker=3", code: "topology-invalid", message: `there is no parameter "worker", which was set (did you mean "workers"?)`},
		{args: "graph singel", code: "usage", message: `topology "singel"`, try: "vsphere-sandbox topology graph single"},
		{args: "schema x", code: "usage", message: `schema: unexpected argument "x"`},
		{args: "apple", code: "usage", message: `unknown command`},
	} {
		t.Run(tc.args, func(t *testing.T) {
			out, r := run(t, strings.Fields(tc.args)...)
			if out != tc.out || r.Code != tc.code || r.Exit != report.Usage || !strings.Contains(r.Message, tc.message) || !strings.HasPrefix(r.Try, tc.try) {
				t.Errorf("printed %q, ended with %+v", out, r)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	e := clitest.NewEnv(nil)
	var v *validateOptions
	var r *renderOptions
	var g *graphOptions
	for _, ended := range []report.Record{
		e.Run(t.Context(), NewCmdValidate(e.Deps, func(o *validateOptions) error { v = o; return nil }), "a", "b", "--set", "x=1", "-o", "yaml"),
		e.Run(t.Context(), NewCmdRender(e.Deps, func(o *renderOptions) error { r = o; return nil }), "--set", "x=1"),
		e.Run(t.Context(), NewCmdGraph(e.Deps, func(o *graphOptions) error { g = o; return nil }), "a", "--set", "x=1", "--set=y="),
	} {
		if ended.Exit != 0 {
			t.Fatalf("ended with %+v", ended)
		}
	}
	x := topology.Setting{Name: "x", Value: "1"}
	got := []any{v.sources, v.set, v.format, r.source, r.set, r.format, g.source, g.set}
	want := []any{[]string{"a", "b"}, source.Settings{x}, "yaml", scenarios.Default, source.Settings{x}, "yaml", "a", source.Settings{x, {Name: "y"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSchema(t *testing.T) {
	got, r := run(t, "schema")
	if r.Exit != 0 || !json.Valid([]byte(got)) || got != string(topology.Schema()) {
		t.Errorf("ended with %+v and %.100q", r, got)
	}
}

// What render writes builds the same again, in both formats.
func TestRenderedLoads(t *testing.T) {
	for _, format := range []string{"yaml", "json"} {
		text, r := run(t, "render", "mine.yaml", "-o", format)
		if r.Exit != 0 {
			t.Fatalf("ended with %+v", r)
		}
		top, err := topology.Load("rendered", []byte(text))
		if err != nil || top.Metadata.Description != "costs ${5}" {
			t.Fatalf("%s: %v\n%s", format, err, text)
		}
		again, err := topology.Marshal(top)
		if err != nil {
			t.Fatal(err)
		}
		if yaml, _ := run(t, "render", "mine.yaml"); yaml != string(again) {
			t.Errorf("%s: (-rendered +again):\n%s", format, cmp.Diff(yaml, string(again)))
		}
	}
}

func applyServer(t *testing.T) *clitest.Server {
	t.Helper()
	w := clitest.ZonesUSEU()
	w.Changes = []api.Change{
		{Op: "create", Kind: "Folder", VCenter: "us", Path: "/dcwest/vm/data"},
		{Op: "change", Kind: "VM", VCenter: "us", Path: "/dcwest/vm/worker-1", What: "2 → 4 CPUs; power off and on", PowerOff: true},
		{Op: "remove", Kind: "Tag", VCenter: "eu", Path: "k8s-zone/old"},
	}
	return clitest.Serve(t, w)
}

// runApply runs the command where the files are; ctx may end before it does.
func runApply(ctx context.Context, t *testing.T, s *clitest.Server, args ...string) (out, reported string, r report.Record) {
	t.Helper()
	e := clitest.NewEnv(s)
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	files(t)
	r = e.Run(ctx, NewCmdTopology(e.Deps), append([]string{"apply"}, args...)...)
	t.Chdir(here)
	return e.Out.String(), e.Err.String(), r
}

func TestApply(t *testing.T) {
	for _, tc := range []struct{ name, args string }{
		{"apply", "mine.yaml"},
		{"apply.dry-run", "mine.yaml --dry-run"},
		{"apply.json", "mine.yaml -o json"},
		{"apply.yaml", "mine.yaml --dry-run --prune -o yaml"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out, reported, r := runApply(t.Context(), t, applyServer(t), strings.Fields(tc.args)...)
			if diff := cmp.Diff(report.Record{}, r); diff != "" {
				t.Errorf("ended with (-want +got):\n%s", diff)
			}
			clitest.Golden(t, tc.name, out+"--\n"+reported)
		})
	}
}

// The sandbox gets the topology as it is, resolved here: it has not the files.
func TestApplyRequest(t *testing.T) {
	s := applyServer(t)
	if _, _, r := runApply(t.Context(), t, s, "mine.yaml", "--set", "workers=3", "--prune"); r.Exit != 0 {
		t.Fatalf("ended with %+v", r)
	}
	got := s.Applied()
	if len(got) != 1 || !got[0].Prune || got[0].DryRun {
		t.Fatalf("asked for %+v", got)
	}
	top, err := topology.Load("request", []byte(got[0].Topology))
	if err != nil || top.Count().Nodes != 3 {
		t.Errorf("%v\n%s", err, got[0].Topology)
	}
}

func TestApplyNothing(t *testing.T) {
	out, reported, r := runApply(t.Context(), t, clitest.Serve(t, clitest.ZonesUSEU()), "mine.yaml")
	if out != "" || reported != "no changes\n" || r.Exit != 0 {
		t.Errorf("printed %q, said %q, ended with %+v", out, reported, r)
	}
}

// A failed step is reported with what was done before it.
func TestApplyFails(t *testing.T) {
	s := applyServer(t)
	s.Refuse(&api.Error{Code: "conflict", Message: "2 of 3 changes are done, and then: in use", Try: "again"})
	s.BlockStep(3)
	out, reported, r := runApply(t.Context(), t, s, "mine.yaml")
	want := "created Folder us/dcwest/vm/data\nchanged VM us/dcwest/vm/worker-1: 2 → 4 CPUs; power off and on\n"
	if out != want || reported != "" {
		t.Errorf("printed %q, said %q", out, reported)
	}
	if diff := cmp.Diff(report.Record{Code: "conflict", Message: "2 of 3 changes are done, and then: in use", Try: "again", Exit: report.Failure}, r); diff != "" {
		t.Errorf("ended with (-want +got):\n%s", diff)
	}
}

func TestApplyRefused(t *testing.T) {
	s := applyServer(t)
	s.Refuse(&api.Error{Code: "unchangeable", Message: "cannot be changed live:\neu: is not in the topology"})
	for args, want := range map[string]report.Record{
		"mine.yaml":          {Code: "unchangeable", Message: "cannot be changed live:\neu: is not in the topology", Exit: report.Failure},
		"mine.yaml single":   {Code: "usage", Exit: report.Usage},
		"singel":             {Code: "usage", Exit: report.Usage},
		"bad.yaml":           {Code: "topology-invalid", Exit: report.Usage},
		"mine.yaml -o wide":  {Code: "usage", Exit: report.Usage},
		"mine.yaml --dryrun": {Code: "failed", Exit: report.Failure},
	} {
		out, _, r := runApply(t.Context(), t, s, strings.Fields(args)...)
		if out != "" || r.Code != want.Code || r.Exit != want.Exit || !strings.HasPrefix(r.Message, want.Message) {
			t.Errorf("%s: printed %q, ended with %+v", args, out, r)
		}
	}
	if n := len(s.Applied()); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
	if _, _, r := runApply(t.Context(), t, nil, "mine.yaml"); r.Code != "no-sandbox" {
		t.Errorf("without a sandbox: %+v", r)
	}
}

// Ctrl-C leaves a sandbox that finishes what it is at, and says how far it was.
func TestApplyInterrupted(t *testing.T) {
	s := applyServer(t)
	s.BlockStep(2)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	e := clitest.NewEnv(s)
	o := &applyOptions{streams: e.Streams, connect: e.Connect, source: scenarios.Default, format: "table"}
	a := writerFunc(func(p []byte) (int, error) { cancel(); return len(p), nil })
	o.streams.Out = a
	err := apply(ctx, o)
	if r := report.Of(err); r.Exit != report.Interrupted {
		t.Errorf("ended with %+v", r)
	}
	want := "stopped after 1 of 3 changes and the one in progress; apply it again to continue\n"
	if e.Err.String() != want {
		t.Errorf("said %q", e.Err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestApplyOptions(t *testing.T) {
	e := clitest.NewEnv(nil)
	var got *applyOptions
	r := e.Run(t.Context(), NewCmdApply(e.Deps, func(_ context.Context, o *applyOptions) error { got = o; return nil }),
		"a", "--set", "x=1", "--dry-run", "--prune", "-o", "json")
	if r.Exit != 0 || got.source != "a" || !got.dryRun || !got.prune || got.format != "json" ||
		!cmp.Equal(got.set, source.Settings{{Name: "x", Value: "1"}}) {
		t.Errorf("ended with %+v and %+v", r, got)
	}
}
