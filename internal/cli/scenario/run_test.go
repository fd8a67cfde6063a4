package scenario

import (
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report/document"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

func TestRunOptions(t *testing.T) {
	for _, tc := range []struct {
		args, err string
	}{
		{"", "scenario run needs a NAME, THEME or FILE, --suite, or --all"},
		{"away --all", "NAME, THEME or FILE, --suite and --all exclude each other"},
		{"--all --speed 0", "--speed: speed 0: want a number from 1 (upstream's defaults) to 100"},
		{"--all --patience 0", "--patience 0: want more than 0 and at most 100"},
		{"--all --seed 0", "--seed 0: want 1 or more"},
		{"--all --ccm moon:x", `CCM "moon:x": there is no source "moon:"; want builtin, PATH, image:REF, archive:FILE or module:VERSION`},
		{"away --on lab --ccm builtin", "--on and --ccm exclude each other: the sandbox is up already"},
		{"away --on lab --speed 1", "--on and --speed exclude each other: the sandbox is up already"},
		{"away -o xml", `unknown output format "xml"`},
		{"./no.yaml", "scenario ./no.yaml: no such file or directory"},
	} {
		e := clitest.NewEnv(nil)
		r := e.Run(t.Context(), NewCmdRun(e.Deps, func(context.Context, *runOptions) error { return nil }), strings.Fields(tc.args)...)
		if r.Message != tc.err || r.Exit != report.Usage {
			t.Errorf("%s: ended with %+v", tc.args, r)
		}
	}
}

// save writes a scenario.
func save(t *testing.T, steps string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(path, []byte(head+"metadata: {name: mine, description: a test}\ntopology: zones-us-eu\nsteps:\n"+steps), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const passes = `
  - inject: vcenter.down
    on: {vcenter: eu}
    as: outage
  - expect: {vcenter: eu, gate: up}
    within: 1s
  - heal: outage
`

const fails = `
  - expect: {vcenter: eu, gate: down}
    within: 10ms
`

// times are what differs from run to run.
var times = regexp.MustCompile(` *\+?[0-9.]+ (s|ms|µs)\b`)

func TestRunOnASandbox(t *testing.T) {
	for _, tc := range []struct {
		name, steps, format string
		exit                int
	}{
		{"passes", passes, output.Plain, 0},
		{"fails", fails, output.Plain, report.Degraded},
		{"fails, JUnit", fails, "junit", report.Degraded},
		{"fails, YAML", fails, output.YAML, report.Degraded},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := clitest.Serve(t, clitest.ZonesUSEU())
			e := clitest.NewEnv(s)
			r := e.Run(t.Context(), NewCmdRun(e.Deps, nil), save(t, tc.steps), "--on", "default", "-o", tc.format)
			if r.Exit != tc.exit {
				t.Fatalf("ended with %+v\n%s%s", r, e.Out, e.Err)
			}
			switch tc.format {
			case output.Plain:
				clitest.Golden(t, "run."+tc.name, times.ReplaceAllString(e.Err.String()+"---\n"+e.Out.String(), " T"))
			case output.YAML:
				if out := e.Out.String(); !strings.HasPrefix(out, "apiVersion: ") || !strings.Contains(out, "\nverdict: failed\n") {
					t.Error(out)
				}
			default:
				if !strings.Contains(e.Out.String(), `<testsuites name="mine" tests="1" failures="1"`) {
					t.Error(e.Out)
				}
			}
			if tc.exit == 0 && (len(s.Injected()) != 1 || len(s.Healed()) != 1) {
				t.Errorf("injected %v, healed %v", s.Injected(), s.Healed())
			}
		})
	}
}

// The artifacts have what a sandbox reports, except for its passwords.
func TestArtifactsOfASandbox(t *testing.T) {
	w := clitest.ZonesUSEU()
	logs := t.TempDir()
	if err := os.WriteFile(filepath.Join(logs, "ccm.log"), []byte("login with pa'ss\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.Status.Components[0].Log = filepath.Join(logs, "ccm.log")
	w.Events = append(w.Events, api.EventLine{Event: event.Event{Seq: 42, Kind: "ccm.vcenter-login-failed", Message: "with pa'ss"}})
	e := clitest.NewEnv(clitest.Serve(t, w))
	dir := filepath.Join(t.TempDir(), "results")
	if r := e.Run(t.Context(), NewCmdRun(e.Deps, nil), save(t, passes), "--on", "default", "--artifacts", dir); r.Exit != 0 {
		t.Fatalf("ended with %+v\n%s", r, e.Err)
	}
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files = append(files, strings.TrimPrefix(path, dir+"/"))
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), "pa'ss") {
			t.Errorf("%s has the password in it", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"artifacts/inventory/1-vms.json", "artifacts/inventory/1-hosts.json", "artifacts/inventory/1-status.json", "artifacts/logs/1-ccm.log", "artifacts/junit_mine.xml"} {
		if !slices.Contains(files, want) {
			t.Errorf("there is no %s in %q", want, files)
		}
	}
	if b, err := os.ReadFile(filepath.Join(dir, "artifacts/logs/1-ccm.log")); err != nil || string(b) != "login with (masked)\n" {
		t.Errorf("log: %q, %v", b, err)
	}
}

func TestRunOnNoSandbox(t *testing.T) {
	e := clitest.NewEnv(nil)
	if r := e.Run(t.Context(), NewCmdRun(e.Deps, nil), save(t, passes), "--on", "moon"); r.Code != "no-sandbox" {
		t.Errorf("ended with %+v", r)
	}
}

// What a sandbox does not survive leaves results that say so, and nothing else.
func TestBootFails(t *testing.T) {
	e := clitest.NewEnv(nil)
	e.State.Dir = t.TempDir()
	dir := filepath.Join(t.TempDir(), "results")
	second := save(t, fails)
	r := e.Run(t.Context(), NewCmdRun(e.Deps, nil), save(t, passes), second, "--artifacts", dir, "-o", "json")
	if r.Exit != report.Failure || !strings.Contains(r.Message, "control-plane") {
		t.Errorf("ended with %+v", r)
	}
	var got document.Suite
	if err := json.Unmarshal(e.Out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Verdict != "errored" || got.Errored != 2 || len(got.Scenarios) != 2 || !strings.Contains(got.Scenarios[1].Message, "did not come up") {
		t.Errorf("got %+v", got)
	}
	if n := strings.Count(e.Err.String(), "✗ control-plane: exit"); n > 3 {
		t.Errorf("it was booted %d times:\n%s", n, e.Err)
	}
	for _, name := range []string{"finished.json", "report.html", "build-log.txt", "artifacts/logs/1-sandbox.log", "artifacts/events.jsonl"} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || len(b) == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(e.State.Dir, "*", "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestInterruptedBoot(t *testing.T) {
	e := clitest.NewEnv(nil)
	e.State.Dir = t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := e.Run(ctx, NewCmdRun(e.Deps, nil), save(t, passes))
	if r.Exit != report.Interrupted || !strings.Contains(e.Out.String(), "1 scenario: 1 interrupted") {
		t.Errorf("ended with %+v\n%s", r, e.Out)
	}
}

// teller calls f once a text is written, and passes everything on.
type teller struct {
	io.Writer
	text string
	f    func()
}

func (t teller) Write(b []byte) (int, error) {
	if strings.Contains(string(b), t.text) {
		t.f()
	}
	return t.Writer.Write(b)
}

// Who interrupts a run on a sandbox that is up gets it back without the faults of the run.
func TestInterruptedRunOnASandbox(t *testing.T) {
	s := clitest.Serve(t, clitest.ZonesUSEU())
	e := clitest.NewEnv(s)
	ctx, cancel := context.WithCancel(t.Context())
	e.Streams.Err = teller{e.Err, "inject vcenter.down", cancel}
	r := e.Run(ctx, NewCmdRun(e.Deps, nil), save(t, `
  - inject: vcenter.down
    on: {vcenter: eu}
  - expect: {vcenter: eu, gate: down}
    within: 10m
`), "--on", "default")
	if r.Exit != report.Interrupted || !strings.Contains(e.Out.String(), "1 scenario: 1 interrupted") {
		t.Errorf("ended with %+v\n%s", r, e.Out)
	}
	if len(s.Injected()) != 1 || len(s.Healed()) != 1 {
		t.Errorf("injected %v, healed %v", s.Injected(), s.Healed())
	}
	if want := "interrupted: heals its faults in sandbox default, in 15s at most"; !strings.Contains(e.Err.String(), want) {
		t.Errorf("it is not told what is waited for:\n%s", e.Err)
	}
}

func TestArtifactsOfOthers(t *testing.T) {
	e := clitest.NewEnv(nil)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "thesis"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := e.Run(t.Context(), NewCmdRun(e.Deps, nil), save(t, passes), "--artifacts", dir); r.Exit != report.Usage || !strings.Contains(r.Message, "is not empty") {
		t.Errorf("ended with %+v", r)
	}
}

// evil is a scenario that starts a program, which leaves a file, and runs any command.
func evil(t *testing.T) (file, mark string) {
	t.Helper()
	dir := t.TempDir()
	file, mark = filepath.Join(dir, "evil.yaml"), filepath.Join(dir, "mark")
	for name, text := range map[string]string{
		"evil.yaml": head + "metadata: {name: evil}\ntopology: single\ncomponents: {ccm: {source: ./evil.sh}}\nsteps:\n  - note: \"harmless\"\n  - run: [kubectl, --kubeconfig, evil.conf, get, ns]\n",
		"evil.sh":   "#!/bin/sh\ntouch " + mark + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return file, mark
}

// A scenario of a stranger is not run without being asked for, and nothing of it is.
func TestRunNeedsTrust(t *testing.T) {
	for _, tc := range []struct {
		name, typed string
		terminal    bool
		args        []string
		boots       bool
		exit        int
	}{
		{"no terminal", "", false, nil, false, report.Usage},
		{"no", "n\n", true, nil, false, report.Failure},
		{"nothing typed", "\n", true, nil, false, report.Failure},
		{"the end of the input", "", true, nil, false, report.Failure},
		{"yes", "y\n", true, nil, true, report.Failure},
		{"trust", "", false, []string{"--trust"}, true, report.Failure},
		{"a source of the command line does not make the rest trusted", "", false, []string{"--ccm", "builtin"}, false, report.Usage},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file, mark := evil(t)
			e := clitest.NewEnv(nil)
			e.State.Dir = t.TempDir()
			e.Streams.SetTTY(tc.terminal, tc.terminal, tc.terminal)
			e.In.WriteString(tc.typed)
			r := e.Run(t.Context(), NewCmdRun(e.Deps, nil), append([]string{file}, tc.args...)...)
			// What boots in a test comes no further than its control plane, and the program is not reached either way.
			booted := strings.Contains(e.Out.String(), "did not come up") || strings.Contains(e.Err.String()+r.Message, "control-plane") || strings.Contains(e.Err.String()+r.Message, "evil.sh: ")
			if r.Exit != tc.exit || booted != tc.boots {
				t.Errorf("booted is %v, ended with %+v\n%s%s", booted, r, e.Out, e.Err)
			}
			if _, err := os.Stat(mark); err == nil && !tc.boots {
				t.Error("its program ran")
			}
			printed := r.Message + e.Err.String()
			for _, want := range []string{"evil.yaml:5: components.ccm.source: starts the program ", "evil.yaml:8: steps[1].run: runs kubectl --kubeconfig"} {
				listed := strings.Contains(printed, want)
				if wanted := len(tc.args) == 0 || strings.Contains(want, "steps") && tc.args[0] == "--ccm"; listed != wanted {
					t.Errorf("%q is listed: %v\n%s", want, listed, printed)
				}
			}
			if !tc.terminal && !tc.boots && (r.Code != "scenario-untrusted" || !strings.Contains(r.Try, "scenario run "+file+" --trust")) {
				t.Errorf("ended with %+v", r)
			}
		})
	}
}

// A scenario that only breaks its sandbox and reads it needs no trust, nor does one of the catalogue by its path.
func TestRunNeedsNoTrust(t *testing.T) {
	own := filepath.Join(t.TempDir(), "own.yaml")
	var text []byte
	for _, e := range scenarios.Catalogue() { // one that would need it if it were a stranger's
		data, err := fs.ReadFile(scenarios.FS(), e.Path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), "run: [kubectl, apply") {
			text = data
			break
		}
	}
	if text == nil {
		t.Fatal("there is none")
	}
	if err := os.WriteFile(own, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{save(t, passes)}, {own}, {"--all"}} {
		e := clitest.NewEnv(nil)
		r := e.Run(t.Context(), NewCmdRun(e.Deps, func(ctx context.Context, o *runOptions) error { return o.trusted(ctx) }), args...)
		if r.Exit != 0 {
			t.Errorf("%q: ended with %+v", args, r)
		}
	}
}

// On a sandbox that is up, components are not started.
func TestRunOnNeedsTrustForCommandsAlone(t *testing.T) {
	file, _ := evil(t)
	e := clitest.NewEnv(nil)
	r := e.Run(t.Context(), NewCmdRun(e.Deps, nil), file, "--on", "lab")
	if r.Code != "scenario-untrusted" || strings.Contains(r.Message, "components") || !strings.Contains(r.Try, "--on lab --trust") {
		t.Errorf("ended with %+v", r)
	}
}

func TestValidateListsWhatNeedsTrust(t *testing.T) {
	file, _ := evil(t)
	want := []scenario.Reach{
		{Line: 5, Path: "components.ccm.source", Does: "starts the program " + filepath.Join(filepath.Dir(file), "evil.sh") + " as cloud controller manager"},
		{Line: 8, Path: "steps[1].run", Does: "runs kubectl --kubeconfig with a kubeconfig that the scenario names, which may start programs and is of another cluster"},
	}
	e := clitest.NewEnv(nil)
	r := e.Run(t.Context(), NewCmdValidate(e.Deps, nil), file)
	text := file + " can be used: 2 steps\n" + file + " needs --trust to be run, for what it does beyond faults in its sandbox:\n"
	for _, one := range want {
		text += "  " + file + ":" + one.String() + "\n"
	}
	if d := cmp.Diff(text, e.Out.String()); d != "" || r.Exit != 0 {
		t.Errorf("%+v %s", r, d)
	}
	e = clitest.NewEnv(nil)
	r = e.Run(t.Context(), NewCmdValidate(e.Deps, nil), file, "-o", "json")
	var got struct{ Items []validation }
	if err := json.Unmarshal(e.Out.Bytes(), &got); err != nil || r.Exit != 0 || len(got.Items) != 1 {
		t.Fatalf("%+v, %v\n%s", r, err, e.Out)
	}
	if d := cmp.Diff(want, got.Items[0].NeedsTrust); d != "" {
		t.Error(d)
	}
	e = clitest.NewEnv(nil)
	if r = e.Run(t.Context(), NewCmdShow(e.Deps, nil), file); r.Exit != 0 || !strings.Contains(e.Err.String(), "evil.yaml needs --trust") || strings.Contains(e.Out.String(), "--trust") {
		t.Errorf("%+v\n%s", r, e.Err)
	}
}
