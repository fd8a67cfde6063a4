package smoke

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/release"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/smoke"
)

func TestOptions(t *testing.T) {
	for _, tc := range []struct {
		args, err string
		exit      int
	}{
		{"", "", 0},
		{"--ccm ./mine --baseline module:v1.34.0 --suite full --strict", "", 0},
		{"mine", `smoke: unexpected argument "mine"`, report.Usage},
		{"--ccm moon:x", `CCM "moon:x": there is no source "moon:"; want builtin, PATH, image:REF, archive:FILE or module:VERSION`, report.Usage},
		{"--baseline moon:x", `CCM "moon:x": there is no source "moon:"; want builtin, PATH, image:REF, archive:FILE or module:VERSION`, report.Usage},
		{"--suite cor", `--suite "cor": want core or full`, report.Usage},
		{"--speed 0", "--speed: speed 0: want a number from 1 (upstream's defaults) to 100", report.Usage},
		{"--patience 0", "--patience 0: want more than 0 and at most 100", report.Usage},
		{"--seed 0", "--seed 0: want 1 or more", report.Usage},
		{"-o xml", `unknown output format "xml"`, report.Usage},
		{"--only upgrade,lifecycle/power-off", "", 0},
		{"--only upgrad", `--only "upgrad": there is no such check`, report.Usage},
		{"--only ,upgrade", `--only "": want names of checks`, report.Usage},
		{"--only vcenter-down-at-start", `--only "vcenter-down-at-start": is in the suite full, not in core`, report.Usage},
		{"--only vcenter-down-at-start --suite full", "", 0},
		{"--cluster kind --kind-image kindest/node:v1.36.4 --csi builtin", "", 0},
		{"--cluster kind --as manifest", "--as manifest: with --cluster kind a CCM is installed by its manifest in any case", report.Usage},
		{"--cluster kind --kubernetes v1.36", "--kubernetes v1.36 is for --cluster embedded: any other cluster has its own release", report.Usage},
		{"--kind-image x", "--kind-image is for --cluster kind", report.Usage},
		{"--cluster existing", `--cluster existing: a sandbox is put there by "up"`, report.Usage},
		{"--as helm", `--as "helm": want process, manifest or chart`, report.Usage},
		{"--as manifest --chart x", "--chart, --baseline-chart and --values need --as chart", report.Usage},
		{"--as chart --ccm-manifest x", "--ccm-manifest and --baseline-manifest need --as manifest", report.Usage},
		{"--csi builtin", "", 0},
		{"--csi ./vsphere-csi --baseline module:v3.7.0 --only driver-upgrade,sanity", "", 0},
		{"--csi ./vsphere-csi --suite core --only storage/*", "", 0},
		{"--csi off", "smoke --csi off: there is no driver to judge", report.Usage},
		{"--csi moon:x", `CSI driver "moon:x": there is no source "moon:"; want builtin, PATH, image:REF, archive:FILE or module:VERSION`, report.Usage},
		{"--csi builtin --baseline moon:x", `CSI driver "moon:x": there is no source "moon:"; want builtin, PATH, image:REF, archive:FILE or module:VERSION`, report.Usage},
		{"--csi builtin --as manifest", "--as manifest: is for cloud controller managers; name one with --ccm", report.Usage},
		{"--csi builtin --only leader-lost", `--only "leader-lost": there is no such check`, report.Usage},
		{"--csi ./mine --csi-watch ./mine", "--csi-watch: smoke judges one build; name it with --csi", report.Usage},
		{"--csi off --ccm ./mine", "", 0},
		{"--as chart --baseline-chart x", "--baseline-manifest and --baseline-chart need --baseline", report.Usage},
	} {
		e := clitest.NewEnv(nil)
		r := e.Run(t.Context(), NewCmdSmoke(e.Deps, func(_ context.Context, o *options) error {
			if len(o.scenarios) < 3 {
				t.Errorf("%s: %d scenarios", tc.args, len(o.scenarios))
			}
			return nil
		}), strings.Fields(tc.args)...)
		if r.Exit != tc.exit || r.Message != tc.err {
			t.Errorf("%s: ended with %+v", tc.args, r)
		}
	}
}

func TestMatrixOptions(t *testing.T) {
	for args, want := range map[string]string{
		"":                          "matrix needs --ccm SOURCE,SOURCE",
		"--ccm builtin,":            "--ccm: empty source between two commas",
		"--ccm builtin,x/y,builtin": "--ccm: builtin is given twice",
		"--ccm builtin,moon:x":      `CCM "moon:x": there is no source "moon:"; want builtin, PATH, image:REF, archive:FILE or module:VERSION`,
		"--ccm builtin,module:v1.36.0 --ccm ./mine": "",
		"--ccm builtin --only upgrade":              `--only "upgrade": there is no such check`,
		"--ccm builtin --kubernetes v1.36,":         "--kubernetes: empty release between two commas",
		"--ccm builtin --kubernetes v1.36,v1.20":    "Kubernetes v1.20: this release of vsphere-sandbox does not have it",
	} {
		e := clitest.NewEnv(nil)
		r := e.Run(t.Context(), NewCmdMatrix(e.Deps, func(_ context.Context, o *matrixOptions) error {
			if !slices.Equal(o.ccms, []string{"builtin", "module:v1.36.0", "./mine"}) {
				t.Errorf("%q", o.ccms)
			}
			return nil
		}), strings.Fields(args)...)
		if r.Message != want || want != "" && r.Exit != report.Usage {
			t.Errorf("%s: ended with %+v", args, r)
		}
	}
}

// one is a suite of one scenario.
func one(t *testing.T) func(string) ([]*scenario.Scenario, error) {
	t.Helper()
	s, err := scenario.Load("one.yaml", []byte("apiVersion: sandbox.vsphere/v1alpha1\nkind: Scenario\nmetadata: {name: one}\ntopology: zones-us-eu\nsteps: [{note: nothing}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	return func(string) ([]*scenario.Scenario, error) { return []*scenario.Scenario{s}, nil }
}

// What does not come up leaves a table that says so, artifacts, and nothing else. What is this program to others says no
// version, either: it is none.
func TestBootFails(t *testing.T) {
	for _, format := range []string{"table", "json", "junit"} {
		t.Run(format, func(t *testing.T) {
			e := clitest.NewEnv(nil)
			e.State.Dir = t.TempDir()
			dir := filepath.Join(t.TempDir(), "results")
			cmd := NewCmdSmoke(e.Deps, func(ctx context.Context, o *options) error {
				o.load = nil
				o.scenarios, _ = one(t)("")
				return run(ctx, o)
			})
			r := e.Run(t.Context(), cmd, "--artifacts", dir, "-o", format)
			if r.Exit != report.Failure || !strings.Contains(r.Message, "control-plane") {
				t.Errorf("ended with %+v", r)
			}
			out := e.Out.String()
			switch format {
			case "table":
				if !strings.HasPrefix(out, "### smoke: builtin") || !strings.Contains(out, "6 errored") || !strings.Contains(out, "| one ") {
					t.Errorf("wrote\n%s", out)
				}
			case "json":
				var doc struct{ Kind, Verdict string }
				if err := json.Unmarshal([]byte(out), &doc); err != nil || doc.Kind != smoke.KindReport || doc.Verdict != string(result.Errored) {
					t.Errorf("%v, %+v", err, doc)
				}
			case "junit":
				if !strings.Contains(out, `<testsuites name="smoke" tests="7"`) {
					t.Errorf("wrote\n%s", out)
				}
			}
			if n := strings.Count(e.Err.String(), "✗ control-plane: exit"); n > 6 {
				t.Errorf("it was booted again and again:\n%s", e.Err)
			}
			for _, name := range []string{"finished.json", "report.html", "build-log.txt", "artifacts/smoke.md", "artifacts/smoke.json", "artifacts/junit_smoke.xml"} {
				if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || len(b) == 0 {
					t.Errorf("%s: %v", name, err)
				}
			}
			left, err := filepath.Glob(filepath.Join(e.State.Dir, "*", "*"))
			if err != nil || len(left) > 0 {
				t.Errorf("left: %v, %v", left, err)
			}
		})
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e := clitest.NewEnv(nil)
	e.State.Dir = t.TempDir()
	if r := e.Run(ctx, NewCmdSmoke(e.Deps, nil)); r.Exit != report.Interrupted || !strings.Contains(e.Out.String(), "– interrupted") {
		t.Errorf("ended with %+v\n%s", r, e.Out)
	}
	if r := e.Run(ctx, NewCmdMatrix(e.Deps, nil), "--ccm", "builtin"); r.Exit != report.Interrupted {
		t.Errorf("ended with %+v", r)
	}
}

func TestMatrixWithoutSandbox(t *testing.T) {
	e := clitest.NewEnv(nil)
	e.State.Dir = t.TempDir()
	dir := filepath.Join(t.TempDir(), "results")
	cmd := NewCmdMatrix(e.Deps, func(ctx context.Context, o *matrixOptions) error {
		o.scenarios, _ = one(t)("")
		return matrix(ctx, o)
	})
	r := e.Run(t.Context(), cmd, "--ccm", "builtin", "--artifacts", dir)
	if r.Exit != report.Failure || !strings.HasPrefix(e.Out.String(), "### matrix\n") || !strings.Contains(e.Out.String(), "✗ errored") {
		t.Errorf("ended with %+v\n%s", r, e.Out)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "artifacts/matrix.md")); err != nil || string(b) != e.Out.String() {
		t.Errorf("matrix.md: %v", err)
	}
}

// Each CCM has a column for each release, which is one only once.
func TestMatrixOfReleases(t *testing.T) {
	e := clitest.NewEnv(nil)
	e.State.Dir = t.TempDir()
	if r := e.Run(t.Context(), NewCmdMatrix(e.Deps, nil), "--ccm", "builtin", "--kubernetes", "builtin,"+release.Default().Name()); r.Exit != report.Usage ||
		r.Message != "--kubernetes: "+release.Default().Version+" is given twice" {
		t.Errorf("ended with %+v", r)
	}
	b := bench{kubernetes: []sandbox.Kubernetes{{Version: "v1.35.4"}, {Version: "v1.36.4"}}}
	if on := b.on(smoke.Program{Source: "builtin", Kubernetes: "v1.36.4"}); on != 1 {
		t.Errorf("runs on %s", b.kubernetes[on].Version)
	}
	all := together(&smoke.Comparison{Columns: []smoke.Column{
		{CCM: smoke.Program{Source: "builtin", Kubernetes: "v1.35.4"}, Suite: result.Suite{Scenarios: []result.Scenario{{Name: "power-off", Theme: "lifecycle"}}}},
		{CCM: smoke.Program{Source: "builtin", Kubernetes: "v1.36.4"}, Suite: result.Suite{Scenarios: []result.Scenario{{Name: "power-off", Theme: "lifecycle"}}}},
	}})
	if all.CCM != "builtin on v1.35.4,builtin on v1.36.4" || all.Scenarios[1].Theme != "builtin-v1.36.4/lifecycle" {
		t.Errorf("%s, %+v", all.CCM, all.Scenarios[1])
	}
}

func TestArtifactsOfOthers(t *testing.T) {
	e := clitest.NewEnv(nil)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "thesis"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := e.Run(t.Context(), NewCmdSmoke(e.Deps, nil), "--artifacts", dir); r.Exit != report.Usage || !strings.Contains(r.Message, "is not empty") {
		t.Errorf("ended with %+v", r)
	}
}
