package vm

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// On real vCenters each VM is asked about; one that is declined does not keep the others, and is no failure.
func TestRealVMs(t *testing.T) {
	off := func(vm string, confirmed bool) api.VMRequest {
		return api.VMRequest{Action: api.PowerOff, VM: vm, Confirmed: confirmed}
	}
	s := clitest.Serve(t, clitest.ZonesUSEU())
	s.Unconfirmed("power-off the real VM")
	e := clitest.NewEnv(s)
	e.Streams.SetTTY(true, true, true)
	e.In.WriteString("n\ny\n")
	if r := e.Run(t.Context(), NewCmdPowerOff(e.Deps, nil), "a", "b"); r.Exit != 0 {
		t.Errorf("ended with %+v", r)
	}
	if d := cmp.Diff([]api.VMRequest{off("a", false), off("b", false), off("b", true)}, s.VMRequests()); d != "" {
		t.Error(d)
	}
	if want := "power-off done to b\n"; e.Out.String() != want {
		t.Errorf("out %q", e.Out)
	}
	want := "power-off the real VM. Do it? [y/N] nothing was done\npower-off the real VM. Do it? [y/N] "
	if e.Err.String() != want {
		t.Errorf("err %q, want %q", e.Err, want)
	}

	e = clitest.NewEnv(s)
	r := e.Run(t.Context(), NewCmdPowerOff(e.Deps, nil), "a")
	if r.Code != "unconfirmed" || r.Exit != report.Usage || r.Try != "the same with --yes" {
		t.Errorf("without a terminal: %+v", r)
	}
}
