package scenario

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

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
