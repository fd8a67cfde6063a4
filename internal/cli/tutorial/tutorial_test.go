package tutorial

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/tutorial"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/tutorial/guide"
)

// env is surroundings whose shelf is a directory of the test's.
func env(t *testing.T) *clitest.Env {
	t.Helper()
	e := clitest.NewEnv(nil)
	e.State.Dir = filepath.Join(t.TempDir(), "state")
	return e
}

// begin lays a world on the shelf, as a guide that was left does.
func begin(t *testing.T, e *clitest.Env, number, place string) string {
	t.Helper()
	dir := filepath.Join(e.State.Dir+"-tutorials", number)
	for _, d := range []string{"clone", "state"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "place.json"), []byte(place), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestList(t *testing.T) {
	e := env(t)
	begin(t, e, "01", `{"page":"01-first-run","step":3}`)
	if r := e.Run(t.Context(), NewCmdTutorial(e.Deps), "list"); r.Exit != 0 {
		t.Fatalf("ended with %+v", r)
	}
	rows := strings.Split(e.Out.String(), "\n")
	if f := strings.Fields(rows[0]); cmp.Diff([]string{"NAME", "TITLE", "MINUTES", "PROGRESS"}, f) != "" {
		t.Errorf("header %q", rows[0])
	}
	if !strings.HasPrefix(rows[1], "01-first-run ") || !strings.Contains(rows[1], "step 3 of ") || !strings.Contains(rows[2], "not begun") {
		t.Errorf("got\n%s", e.Out)
	}
	if got := e.Err.String(); got != "\ntry: vsphere-sandbox tutorial start 01-first-run\n" {
		t.Errorf("said %q", got)
	}
	e.Out.Reset()
	if r := e.Run(t.Context(), NewCmdTutorial(e.Deps), "list", "-o", "json"); r.Exit != 0 || !strings.Contains(e.Out.String(), `"kind": "TutorialList"`) {
		t.Errorf("ended with %+v and %s", r, e.Out)
	}
}

func TestPick(t *testing.T) {
	var all []*tutorial.Page
	for _, name := range []string{"01-first-run", "02-zones", "03-cpi-csi", "07-cpi-release"} {
		all = append(all, &tutorial.Page{Name: name})
	}
	for asked, want := range map[string]string{
		"1": "01-first-run", "01": "01-first-run", "02-zones": "02-zones", "zones": "02-zones", "Zones": "02-zones", "first": "01-first-run",
		"01-f": "01-first-run", "cpi": `"cpi" may be 03-cpi-csi or 07-cpi-release`, "frist-run": `tutorial "frist-run" not found`,
		"9": `tutorial "9" not found`, "0": `tutorial "0" not found`, "": `tutorial "" not found`,
	} {
		p, err := pick(all, asked)
		got := report.Of(err).Message
		if err == nil {
			got = p.Name
		}
		if got != want {
			t.Errorf("%q: %s, want %s", asked, got, want)
		}
	}
	_, err := pick(all, "frist-run")
	if r := report.Of(err); r.Try != "vsphere-sandbox tutorial start first-run" || r.Exit != report.Usage {
		t.Errorf("%+v", r)
	}
}

func TestStartAsksForATerminal(t *testing.T) {
	e := env(t)
	r := e.Run(t.Context(), NewCmdTutorial(e.Deps), "start", "1")
	if r.Code != "no-terminal" || r.Exit != report.Usage || !strings.HasSuffix(r.Try, "tutorial start 01-first-run --yes") {
		t.Errorf("ended with %+v", r)
	}
	if _, err := os.Stat(e.State.Dir + "-tutorials"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it has made something: %v", err)
	}
}

func TestStartFlags(t *testing.T) {
	e := env(t)
	var got startOptions
	cmd := NewCmdStart(e.Deps, func(_ context.Context, o *startOptions) error { got = *o; return nil })
	if r := e.Run(t.Context(), cmd, "zones", "--from", "3", "--again", "--yes"); r.Exit != 0 {
		t.Fatalf("ended with %+v", r)
	}
	if got.name != "zones" || got.from != "3" || !got.again || !got.yes {
		t.Errorf("got %+v", got)
	}
	for _, args := range [][]string{{}, {"1", "2"}, {"1", "--from", ""}} {
		if r := e.Run(t.Context(), NewCmdStart(e.Deps, nil), args...); r.Exit != report.Usage {
			t.Errorf("%q: ended with %+v", args, r)
		}
	}
}

func TestEnv(t *testing.T) {
	e := env(t)
	e.Vars["SHELL"], e.Vars["PATH"] = "/bin/bash", "/usr/bin"
	if r := e.Run(t.Context(), NewCmdTutorial(e.Deps), "env", "1"); r.Code != "not-begun" {
		t.Errorf("ended with %+v", r)
	}
	if r := e.Run(t.Context(), NewCmdTutorial(e.Deps), "env"); r.Code != "no-tutorial" {
		t.Errorf("ended with %+v", r)
	}
	dir := begin(t, e, "01", `{}`)
	if r := e.Run(t.Context(), NewCmdTutorial(e.Deps), "env", "--shell", "tcsh"); r.Exit != report.Usage || !strings.Contains(r.Message, `"tcsh" is none of bash`) {
		t.Errorf("ended with %+v", r)
	}
	for shell, want := range map[string]string{
		"bash": "cd 'DIR/clone'\nexport PATH='DIR/clone/bin':\"$PATH\"\nexport VSPHERE_SANDBOX_STATE='DIR/state'\n" +
			"export VSPHERE_SANDBOX_TUTORIALS='SHELF'\nexport VSPHERE_SANDBOX_NAME=''\n" +
			"# To have it take effect, run this:\n#   eval \"$(vsphere-sandbox tutorial env 01-first-run)\"\n",
		"fish": "cd 'DIR/clone'\nset -gx PATH 'DIR/clone/bin' $PATH\nset -gx VSPHERE_SANDBOX_STATE 'DIR/state'\n" +
			"set -gx VSPHERE_SANDBOX_TUTORIALS 'SHELF'\nset -gx VSPHERE_SANDBOX_NAME ''\n" +
			"# To have it take effect, run this:\n#   vsphere-sandbox tutorial env 01-first-run | source\n",
	} {
		e.Out.Reset()
		if r := e.Run(t.Context(), NewCmdTutorial(e.Deps), "env", "--shell", shell); r.Exit != 0 {
			t.Fatalf("ended with %+v", r)
		}
		if d := cmp.Diff(strings.NewReplacer("DIR", dir, "SHELF", filepath.Dir(dir)).Replace(want), e.Out.String()); d != "" {
			t.Error(d)
		}
	}
}

func TestStop(t *testing.T) {
	e := env(t)
	e.Self = filepath.Join(t.TempDir(), "vsphere-sandbox")
	if err := os.WriteFile(e.Self, []byte("#!/bin/sh\nrm -rf \"$VSPHERE_SANDBOX_STATE\"/*\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	dir := begin(t, e, "01", `not JSON`) // any content
	if err := os.Mkdir(filepath.Join(dir, "state", "default"), 0o700); err != nil {
		t.Fatal(err)
	}
	if r := e.Run(t.Context(), NewCmdTutorial(e.Deps), "stop"); r.Exit != 0 {
		t.Fatalf("ended with %+v", r)
	}
	if _, err := os.Stat(filepath.Dir(dir)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("left: %v", err)
	}
	if !strings.Contains(e.Err.String(), "  still existed: sandbox default\ntutorial 01-first-run: stopped, nothing of it is left\n") {
		t.Errorf("said %s", e.Err)
	}
}

func TestExplain(t *testing.T) {
	p := &tutorial.Page{Name: "01-first-run"}
	for _, c := range []struct {
		err  error
		code string
		exit int
	}{
		{guide.ErrGuided, "tutorial-busy", report.Failure},
		{&guide.NoStep{Asked: "x", Headings: []string{"A"}}, "usage", report.Usage},
		{&guide.Failed{Err: &tutorial.Mismatch{File: "f", Line: 3, Command: "a\nb"}}, "tutorial-differs", report.Degraded},
		{&guide.Failed{Err: errors.New("sh ended")}, "tutorial-failed", report.Failure},
		{context.Canceled, "interrupted", report.Interrupted},
	} {
		if r := report.Of(explain(c.err, p)); r.Code != c.code || r.Exit != c.exit {
			t.Errorf("%v: %+v", c.err, r)
		}
	}
}

func TestLink(t *testing.T) {
	for to, want := range map[string]string{
		"https://x.y/z": "https://x.y/z", "../volumes/statefulset.yaml": "tutorials/volumes/statefulset.yaml",
		"../02-zones/README.md": "", "../../scenarios/x.yaml": "", "#here": "",
	} {
		if got := link(to); got != want {
			t.Errorf("%s: %q, want %q", to, got, want)
		}
	}
}

func TestEnvLine(t *testing.T) {
	e := env(t)
	o := &startOptions{typed: command.Program, getenv: e.Getenv}
	p := &tutorial.Page{Name: "01-x"}
	if got := o.envLine(p); got != `eval "$(vsphere-sandbox tutorial env 01-x)"` {
		t.Error(got)
	}
	e.Vars["VSPHERE_SANDBOX_STATE"] = "/s"
	o.typed = "/a b/vsphere-sandbox"
	if got := o.envLine(p); got != `eval "$(env VSPHERE_SANDBOX_STATE='/s' '/a b/vsphere-sandbox' tutorial env 01-x)"` {
		t.Error(got)
	}
}
