package status

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

func TestOptions(t *testing.T) {
	for _, tc := range []struct {
		args   string
		format string
		exit   int
	}{
		{args: "", format: ""},
		{args: "-o json", format: "json"},
		{args: "-o wide", format: "wide"},
		{args: "-o jsn", exit: report.Usage},
		{args: "extra", exit: report.Usage},
	} {
		t.Run(tc.args, func(t *testing.T) {
			e := clitest.NewEnv(nil)
			var got *options
			cmd := NewCmdStatus(e.Deps, func(_ context.Context, o *options) error { got = o; return nil })
			if r := e.Run(t.Context(), cmd, strings.Fields(tc.args)...); r.Exit != tc.exit {
				t.Fatalf("ended with %+v", r)
			}
			if tc.exit == 0 && got.format != tc.format {
				t.Errorf("format = %q, want %q", got.format, tc.format)
			}
		})
	}
}

func TestStatus(t *testing.T) {
	for _, format := range []string{"table", "wide", "json", "yaml", "name"} {
		t.Run(format, func(t *testing.T) {
			e := clitest.NewEnv(clitest.Serve(t, clitest.ZonesUSEU()))
			if r := e.Run(t.Context(), NewCmdStatus(e.Deps, nil), "-o", format); r.Exit != 0 {
				t.Fatalf("ended with %+v", r)
			}
			clitest.Golden(t, "status."+format, e.Out.String())
		})
	}
}

func TestDegraded(t *testing.T) {
	w := clitest.ZonesUSEU()
	w.Status.VCenters[0].Gate = "slow"
	w.Status.VCenters[0].Delay = 250e6
	w.Status.Nodes.Ready = 1
	e := clitest.NewEnv(clitest.Serve(t, w))
	r := e.Run(t.Context(), NewCmdStatus(e.Deps, nil))
	want := report.Record{
		Code: "degraded", Message: "vcenter us is slow (250ms); 1 of 2 nodes is not ready", Try: "vsphere-sandbox events", Exit: report.Degraded,
	}
	if d := cmp.Diff(want, r); d != "" {
		t.Error(d)
	}
	if !strings.Contains(e.Out.String(), "slow (250ms)") {
		t.Errorf("the status is not printed:\n%s", e.Out)
	}
}

func TestProblems(t *testing.T) {
	for _, tc := range []struct {
		name  string
		spoil func(*api.Status)
		want  []string
	}{
		{"good health", func(*api.Status) {}, nil},
		{"booting", func(s *api.Status) { s.Phase, s.Step = api.Booting, "nodes" }, []string{"the sandbox is booting (nodes)"}},
		{"stopping", func(s *api.Status) { s.Phase = api.Stopping }, []string{"the sandbox is stopping"}},
		{"out of date", func(s *api.Status) { s.VCenters[1].Watched = false }, []string{"what is known of vcenter eu is out of date"}},
		{"CCM gone", func(s *api.Status) { s.Components[0].State = "backing-off" }, []string{"ccm is backing-off"}},
		{"VM off", func(s *api.Status) { s.Components[3].State = "stopped" }, nil},
		{"uninitialized", func(s *api.Status) { s.Nodes.Initialized = 0 }, []string{"2 of 2 nodes are not initialized"}},
		{"unregistered", func(s *api.Status) { s.Nodes = api.NodeCount{Wanted: 3, Registered: 2} }, []string{"1 of 3 nodes is not registered"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := clitest.ZonesUSEU().Status
			tc.spoil(&s)
			if d := cmp.Diff(tc.want, problems(s)); d != "" {
				t.Error(d)
			}
		})
	}
}

// Of a sandbox that crashed it is said how, and where its files are; so for programs.
func TestCrashed(t *testing.T) {
	for _, format := range []string{"table", "json", "name"} {
		t.Run(format, func(t *testing.T) {
			e := clitest.NewEnv(nil)
			e.State.Items = []command.Sandbox{{
				Name: "default", Dir: "/state/default", Topology: "single", StartedAt: clitest.Now.Add(-time.Minute),
				Crash: &command.Crash{Reason: "panic: boom", Stack: []string{"main.boot (/x/boot.go:12)", "main.main (/x/main.go:3)"}},
			}}
			r := e.Run(t.Context(), NewCmdStatus(e.Deps, nil), "-o", format)
			want := report.Record{
				Code: "crashed", Message: `sandbox "default" crashed, and its logs, events and recording are kept in /state/default`, Exit: report.Degraded,
				Try: "vsphere-sandbox logs --name default\nvsphere-sandbox doctor --bundle vsphere-sandbox-bug.tar.gz --name default\nvsphere-sandbox down --name default   # removes what it left",
			}
			if d := cmp.Diff(want, r); d != "" {
				t.Error(d)
			}
			clitest.Golden(t, "crashed."+format, e.Out.String())
		})
	}
}

func TestNoSandbox(t *testing.T) {
	e := clitest.NewEnv(nil)
	if r := e.Run(t.Context(), NewCmdStatus(e.Deps, nil)); r.Code != "no-sandbox" || r.Exit != report.Failure {
		t.Errorf("ended with %+v", r)
	}
	e.State.Err = errors.New("permission denied")
	if r := e.Run(t.Context(), NewCmdStatus(e.Deps, nil)); r.Message != "permission denied" {
		t.Errorf("ended with %+v", r)
	}
}
