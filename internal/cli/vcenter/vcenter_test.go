package vcenter

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

func TestRequests(t *testing.T) {
	for _, tc := range []struct {
		args string
		want []api.GateRequest
		exit int
	}{
		{args: "up us eu", want: []api.GateRequest{{VCenter: "us", Mode: "up"}, {VCenter: "eu", Mode: "up"}}},
		{args: "down us", want: []api.GateRequest{{VCenter: "us", Mode: "down"}}},
		{args: "hang us", want: []api.GateRequest{{VCenter: "us", Mode: "hung"}}},
		{args: "slow us", want: []api.GateRequest{{VCenter: "us", Mode: "slow", Delay: api.Duration(250 * time.Millisecond)}}},
		{args: "slow us --delay 2s", want: []api.GateRequest{{VCenter: "us", Mode: "slow", Delay: api.Duration(2 * time.Second)}}},
		{args: "slow us --delay 0s", exit: report.Usage},
		{args: "down", exit: report.Usage},
		{args: "dwon us", exit: report.Usage},
	} {
		t.Run(tc.args, func(t *testing.T) {
			s := clitest.Serve(t, clitest.ZonesUSEU())
			e := clitest.NewEnv(s)
			if r := e.Run(t.Context(), NewCmdVCenter(e.Deps), strings.Fields(tc.args)...); r.Exit != tc.exit {
				t.Fatalf("ended with %+v", r)
			}
			if d := cmp.Diff(tc.want, s.GateRequests()); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestOptionsAndOutput(t *testing.T) {
	e := clitest.NewEnv(clitest.Serve(t, clitest.ZonesUSEU()))
	var got *options
	cmd := NewCmdSlow(e.Deps, func(_ context.Context, o *options) error { got = o; return run(t.Context(), o) })
	if r := e.Run(t.Context(), cmd, "us", "--delay", "1s", "-o", "name"); r.Exit != 0 {
		t.Fatalf("ended with %+v", r)
	}
	if got.mode != "slow" || got.delay != time.Second || got.format != "name" {
		t.Errorf("options = %+v", got)
	}
	if d := cmp.Diff("vcenter/us\n", e.Out.String()); d != "" {
		t.Error(d)
	}
}
