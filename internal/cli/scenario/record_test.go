package scenario

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// broken is a world in which a VM was switched off by hand.
func broken() clitest.World {
	w := clitest.ZonesUSEU()
	w.Events = append(w.Events, api.EventLine{Event: event.Event{
		Seq: 42, Time: clitest.Now, Plane: event.PlaneSandbox, Kind: "command.power-off", Object: event.Object{Kind: "VM", VCenter: "eu", Name: "worker-1"}, Message: "vm power-off worker-1",
	}})
	return w
}

func TestRecord(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine.yaml")
	e := clitest.NewEnv(clitest.Serve(t, broken()))
	if r := e.Run(t.Context(), NewCmdRecord(e.Deps, nil), "--file", file, "--as", "by-hand"); r.Exit != 0 {
		t.Fatalf("ended with %+v", r)
	}
	b, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(b), "name: by-hand") || !strings.Contains(string(b), "power-off") {
		t.Errorf("%v\n%s", err, b)
	}
	r := e.Run(t.Context(), NewCmdRecord(e.Deps, nil), "--file", file)
	if r.Exit != report.Usage || r.Message != "file "+file+" already exists" {
		t.Errorf("again: %+v", r)
	}
	if r := e.Run(t.Context(), NewCmdRecord(e.Deps, nil), "--file", file, "--force"); r.Exit != 0 {
		t.Errorf("with force: %+v", r)
	}
}

func TestRecordNothing(t *testing.T) {
	e := clitest.NewEnv(clitest.Serve(t, clitest.ZonesUSEU()))
	for _, args := range []string{"", "--since 1m"} {
		if r := e.Run(t.Context(), NewCmdRecord(e.Deps, nil), strings.Fields(args)...); r.Code != "nothing-recorded" {
			t.Errorf("%q: ended with %+v", args, r)
		}
	}
	for _, args := range []string{"--since -1m", "--since 1m -f", "word"} {
		if r := e.Run(t.Context(), NewCmdRecord(e.Deps, nil), strings.Fields(args)...); r.Exit != report.Usage {
			t.Errorf("%q: ended with %+v", args, r)
		}
	}
}
