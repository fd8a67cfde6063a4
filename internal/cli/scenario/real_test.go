package scenario

import (
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Where faults may change real VMs, scenarios run after one confirmation for all of their faults.
func TestRunOnRealVCenters(t *testing.T) {
	for _, tc := range []struct {
		name     string
		writable bool
		tty      bool
		typed    string
		args     []string
		exit     int
		code     string
		injected int
	}{
		{name: "nobody to ask", writable: true, exit: report.Usage, code: "unconfirmed"},
		{name: "no", writable: true, tty: true, typed: "n\n", exit: report.Failure},
		{name: "yes", writable: true, tty: true, typed: "y\n", injected: 1},
		{name: "--yes", writable: true, args: []string{"--yes"}, injected: 1},
		{name: "read-only: the sandbox refuses", injected: 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := clitest.ZonesUSEU()
			w.Status.Ground.Inventory, w.Status.Ground.Writable = api.InventoryReal, tc.writable
			s := clitest.Serve(t, w)
			e := clitest.NewEnv(s)
			e.Streams.SetTTY(tc.tty, tc.tty, tc.tty)
			e.In.WriteString(tc.typed)
			args := append([]string{save(t, passes), "--on", "default"}, tc.args...)
			r := e.Run(t.Context(), NewCmdRun(e.Deps, nil), args...)
			if r.Exit != tc.exit || r.Code != tc.code {
				t.Fatalf("ended with %+v\n%s%s", r, e.Out, e.Err)
			}
			if n := len(s.Injected()); n != tc.injected {
				t.Errorf("%d faults, want %d", n, tc.injected)
			}
			for _, i := range s.Injected() {
				if i.Confirmed != tc.writable {
					t.Errorf("%+v", i)
				}
			}
			if tc.writable && tc.tty && !strings.Contains(e.Err.String(), "real vCenters") {
				t.Errorf("said %q", e.Err)
			}
		})
	}
}
