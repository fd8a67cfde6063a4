package conformance

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/release"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/conformance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

func TestMain(m *testing.M) {
	if status, done := clitest.StandIn(); done {
		os.Exit(status)
	}
	os.Exit(m.Run())
}

func TestOptions(t *testing.T) {
	for args, want := range map[string]string{
		"": "",
		"--suite conformance --focus A|B --skip C --parallel 4": "",
		"--cluster kind --kind-image kindest/node:v1.36.4":      "",
		"x":                                 `conformance: unexpected argument "x"`,
		"--suite storge":                    `--suite "storge": want quick, nodes, storage, conformance`,
		"--focus (":                         "--focus, --skip: error parsing regexp: missing closing ): `(`",
		"--parallel 0":                      "--parallel 0: want 1 to 32",
		"--resume":                          "--resume needs --artifacts, the directory of the run before",
		"--kubernetes v1.20":                "Kubernetes v1.20: this release of vsphere-sandbox does not have it",
		"--kind-image x":                    "--kind-image is for --cluster kind",
		"--cluster kind --kubernetes v1.36": "--kubernetes v1.36 is for --cluster embedded: any other cluster has its own release",
		"-o junit":                          `unknown output format "junit"`,
	} {
		e := clitest.NewEnv(nil)
		r := e.Run(t.Context(), NewCmdConformance(e.Deps, func(_ context.Context, o *options) error {
			if o.choice.Containers != (o.ground.Cluster == "kind") {
				t.Errorf("%s: %+v", args, o.choice)
			}
			return nil
		}), strings.Fields(args)...)
		if r.Message != want || want != "" && r.Exit != report.Usage {
			t.Errorf("%s: ended with %+v", args, r)
		}
	}
}

// What has passed is read from the run before, of the same release alone.
func TestResume(t *testing.T) {
	r := release.Default()
	o := &options{resume: true, artifacts: t.TempDir()}
	if err := o.read(r); err != nil || o.known != nil {
		t.Errorf("the first sitting: %v", err)
	}
	file := filepath.Join(o.artifacts, resultsFile)
	before := conformance.Report{Kubernetes: r.Version, Outcomes: []conformance.Outcome{
		{Spec: conformance.Spec{Name: "[sig-apps] x"}, Verdict: result.Passed, Began: time.Unix(1, 0).UTC()},
	}}
	text, err := json.Marshal(before)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := o.read(r); err != nil || len(o.known) != 1 || o.known[0].Name != "[sig-apps] x" || o.known[0].Verdict != result.Passed {
		t.Errorf("%+v, %v", o.known, err)
	}
	if err := o.read(release.Release{Version: "v1.30.0"}); err == nil || !strings.Contains(err.Error(), "are of Kubernetes "+r.Version+", not of v1.30.0") {
		t.Errorf("another release: %v", err)
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := o.read(r); err == nil || !strings.Contains(err.Error(), resultsFile) {
		t.Errorf("broken: %v", err)
	}
}

func TestTested(t *testing.T) {
	for version, want := range map[string]string{"v1.36.99": "v1.36", "v1.35.4": "v1.35", "v1.12.0": release.Default().Name()} {
		if got := tested(version); got.Name() != want {
			t.Errorf("%s: %s", version, got.Name())
		}
	}
}
