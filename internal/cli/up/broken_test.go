package up

import (
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
)

// A boot that fails and no prerequisite explains keeps its logs without being asked. The control plane is a program here that
// ends at once: this test's.
func TestBrokenBootKeepsItsLogs(t *testing.T) {
	e := clitest.NewEnv(nil)
	e.State.Dir = t.TempDir()
	r := e.Run(t.Context(), NewCmdUp(e.Deps, nil), "single", "--csi", "off")
	if r.Exit != report.Failure || !strings.Contains(e.Err.String(), "kept until \"down\"") {
		t.Errorf("ended with %+v:\n%s", r, e.Err)
	}
	entries, err := instance.List(e.State.Dir)
	if err != nil || len(entries) != 1 || !entries[0].Record.Retained || entries[0].Running {
		t.Fatalf("left: %+v, %v", entries, err)
	}
	if _, err := instance.Reap(t.Context(), e.State.Dir, "default"); err != nil {
		t.Error(err)
	}
}
