package topology

import (
	"context"
	"os"
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
	s.Stick(3)
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
	s.Stick(2)
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
