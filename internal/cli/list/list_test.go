package list

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
)

func TestList(t *testing.T) {
	for _, format := range []string{"table", "wide", "json", "yaml", "name"} {
		t.Run(format, func(t *testing.T) {
			e := clitest.NewEnv(clitest.Serve(t, clitest.ZonesUSEU()))
			e.State.Items = append(e.State.Items,
				command.Sandbox{
					Name: "dead", Dir: "/state/dead", Topology: "single", PID: 17,
					Crash: &command.Crash{Reason: "panic: boom", Stack: []string{"main.main (/x/main.go:3)"}},
				},
				command.Sandbox{Name: "kept", Dir: "/state/kept", Topology: "single", Ended: command.Retained},
				command.Sandbox{Name: "rest", Dir: "/state/rest", Topology: "single", Ended: command.Left},
				command.Sandbox{Name: "deaf", Dir: "/state/deaf", Socket: t.TempDir() + "/none", Running: true, PID: 18},
			)
			if r := e.Run(t.Context(), NewCmdList(e.Deps, nil), "-o", format); r.Exit != 0 {
				t.Fatalf("ended with %+v", r)
			}
			clitest.Golden(t, "list."+format, e.Out.String())
			if d := cmp.Diff(`sandbox "dead" crashed: panic: boom
    at main.main (/x/main.go:3)
what it left is in /state/dead
try: vsphere-sandbox logs --name dead
try: vsphere-sandbox down --name dead   # removes it
`, e.Err.String()); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestEmpty(t *testing.T) {
	e := clitest.NewEnv(nil)
	if r := e.Run(t.Context(), NewCmdList(e.Deps, nil)); r.Exit != 0 || e.Out.Len() > 0 {
		t.Errorf("ended with %+v and %q", r, e.Out)
	}
	if d := cmp.Diff("no sandboxes\ntry: vsphere-sandbox up\n", e.Err.String()); d != "" {
		t.Error(d)
	}
}

// Sandboxes of tutorials are named, but for those of the tutorial that the reader is in.
func TestTutorials(t *testing.T) {
	e := clitest.NewEnv(nil)
	shelf := t.TempDir()
	e.Vars["VSPHERE_SANDBOX_TUTORIALS"] = shelf
	for _, dir := range []string{"01/state/default", "02/state/lab", "03/clone"} {
		if err := os.MkdirAll(filepath.Join(shelf, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	e.State.Dir = filepath.Join(shelf, "02", "state")
	if r := e.Run(t.Context(), NewCmdList(e.Deps, nil)); r.Exit != 0 {
		t.Errorf("ended with %+v", r)
	}
	want := "no sandboxes\ntry: vsphere-sandbox up\nnot listed: sandbox default of tutorial 01-first-run\ntry: eval \"$(vsphere-sandbox tutorial env 01-first-run)\"\n"
	if d := cmp.Diff(want, e.Err.String()); d != "" {
		t.Error(d)
	}
}

func TestTrouble(t *testing.T) {
	e := clitest.NewEnv(nil)
	e.State.Err = errors.New("state directory: permission denied")
	if r := e.Run(t.Context(), NewCmdList(e.Deps, nil)); r.Exit != report.Failure {
		t.Errorf("ended with %+v", r)
	}
	if r := e.Run(t.Context(), NewCmdList(e.Deps, nil), "x"); r.Exit != report.Usage {
		t.Errorf("ended with %+v", r)
	}
}
