package vm

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

func TestRequests(t *testing.T) {
	for _, tc := range []struct {
		args string
		want []api.VMRequest
		exit int
	}{
		{args: "power-on w1", want: []api.VMRequest{{Action: "power-on", VM: "w1"}}},
		{args: "power-off w1 eu/w2", want: []api.VMRequest{{Action: "power-off", VM: "w1"}, {Action: "power-off", VM: "eu/w2"}}},
		{args: "suspend w1 --vcenter us", want: []api.VMRequest{{Action: "suspend", VM: "w1", VCenter: "us"}}},
		{args: "reset w1", want: []api.VMRequest{{Action: "reset", VM: "w1"}}},
		{args: "hang w1", want: []api.VMRequest{{Action: "hang", VM: "w1"}}},
		{args: "move w1 --to esx-2", want: []api.VMRequest{{Action: "move", VM: "w1", Host: "esx-2"}}},
		{args: "destroy w1 --yes", want: []api.VMRequest{{Action: "destroy", VM: "w1", Confirmed: true}}},
		{args: "power-off w1 -y", want: []api.VMRequest{{Action: "power-off", VM: "w1", Confirmed: true}}},
		{args: "destroy w1", exit: report.Usage},
		{args: "move w1", exit: report.Usage},
		{args: "power-off", exit: report.Usage},
		{args: "poweroff w1", exit: report.Usage},
		{args: "hang w1 --to esx-2", exit: report.Failure}, // the root command makes it a usage error
	} {
		t.Run(tc.args, func(t *testing.T) {
			s := clitest.Serve(t, clitest.ZonesUSEU())
			e := clitest.NewEnv(s)
			if r := e.Run(t.Context(), NewCmdVM(e.Deps), strings.Fields(tc.args)...); r.Exit != tc.exit {
				t.Fatalf("ended with %+v", r)
			}
			if d := cmp.Diff(tc.want, s.VMRequests()); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	e := clitest.NewEnv(nil)
	var got *options
	cmd := NewCmdMove(e.Deps, func(_ context.Context, o *options) error { got = o; return nil })
	if r := e.Run(t.Context(), cmd, "a", "b", "--to", "h", "--vcenter", "us", "-o", "name"); r.Exit != 0 {
		t.Fatalf("ended with %+v", r)
	}
	if d := cmp.Diff([]string{"move", "a b", "us", "h", "name"}, []string{string(got.action), strings.Join(got.vms, " "), got.vcenter, got.host, got.format}); d != "" {
		t.Error(d)
	}
}

func TestOutput(t *testing.T) {
	for _, tc := range []struct{ args, want string }{
		{"", "power-off done to a\npower-off done to b\n"},
		{"-o name", "vm/a\nvm/b\n"},
		{"-o yaml", `apiVersion: sandbox.vsphere/v1alpha1
items:
- message: power-off done to a
  object: vm/a
  seq: 77
- message: power-off done to b
  object: vm/b
  seq: 77
kind: ResultList
`},
	} {
		t.Run(tc.args, func(t *testing.T) {
			e := clitest.NewEnv(clitest.Serve(t, clitest.ZonesUSEU()))
			if r := e.Run(t.Context(), NewCmdPowerOff(e.Deps, nil), append([]string{"a", "b"}, strings.Fields(tc.args)...)...); r.Exit != 0 {
				t.Fatalf("ended with %+v", r)
			}
			if d := cmp.Diff(tc.want, e.Out.String()); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	s := clitest.Serve(t, clitest.ZonesUSEU())
	s.Refuse(&api.Error{Code: "not-found", Message: "no VM", Try: "get vms"})
	e := clitest.NewEnv(s)
	want := report.Record{Code: "not-found", Message: "no VM; no VM", Try: "get vms", Exit: 1}
	if d := cmp.Diff(want, e.Run(t.Context(), NewCmdReset(e.Deps, nil), "a", "b")); d != "" {
		t.Error(d)
	}
	want.Message = "no VM"
	if d := cmp.Diff(want, e.Run(t.Context(), NewCmdReset(e.Deps, nil), "a")); d != "" {
		t.Error(d)
	}
}

func TestDestroyAsks(t *testing.T) {
	for _, tc := range []struct {
		typed string
		want  int
		said  string
	}{
		{"y\n", 1, "Destroy VM w1, w2? This cannot be undone. [y/N] "},
		{"n\n", 0, "nothing was done\n"},
		{"", 0, "nothing was done\n"},
	} {
		s := clitest.Serve(t, clitest.ZonesUSEU())
		e := clitest.NewEnv(s)
		e.Streams.SetTTY(true, true, true)
		e.In.WriteString(tc.typed)
		if r := e.Run(t.Context(), NewCmdDestroy(e.Deps, nil), "w1", "w2"); r.Exit != 0 {
			t.Errorf("%q: ended with %+v", tc.typed, r)
		}
		if n := len(s.VMRequests()); n != 2*tc.want {
			t.Errorf("%q: %d requests", tc.typed, n)
		}
		if !strings.Contains(e.Err.String(), tc.said) {
			t.Errorf("%q: said %q", tc.typed, e.Err)
		}
	}
}
