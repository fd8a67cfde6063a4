package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/stage"
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
		"--csi nonesuch":                    `--csi nonesuch: want builtin, PATH, image:REF, archive:FILE or module:VERSION or off`,
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
	if err := o.read(r); err != nil || len(o.before.Outcomes) > 0 {
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
	if err := o.read(r); err != nil || len(o.before.Outcomes) != 1 || o.before.Outcomes[0].Name != "[sig-apps] x" || o.before.Outcomes[0].Verdict != result.Passed {
		t.Errorf("%+v, %v", o.before, err)
	}
	if err := o.read(release.Release{Version: "v1.30.0"}); err == nil || !strings.Contains(err.Error(), "are of Kubernetes "+r.Version+", not of v1.30.0") {
		t.Errorf("another release: %v", err)
	}
	o.ground.Cluster = "kind"
	if err := o.read(r); err == nil || !strings.Contains(err.Error(), "are of --cluster , not of kind") {
		t.Errorf("another cluster: %v", err)
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

// Only the tests of a CSI driver on kind have one by default.
func TestDriver(t *testing.T) {
	for args, want := range map[string]struct {
		driver   string
		external bool
	}{
		"":                               {"off", false},
		"--suite storage":                {"off", false},
		"--suite storage --cluster kind": {"builtin", true},
		"--suite storage --cluster kind --csi off":           {"off", false},
		"--suite storage --cluster kind --csi module:v3.7.0": {"module:v3.7.0", true},
		"--suite conformance --cluster kind":                 {"off", false},
		"--csi builtin":                                      {"builtin", false},
	} {
		e := clitest.NewEnv(nil)
		r := e.Run(t.Context(), NewCmdConformance(e.Deps, func(_ context.Context, o *options) error {
			if o.csi.Driver != want.driver || o.external() != want.external {
				t.Errorf("%s: driver %s, external %v", args, o.csi.Driver, o.external())
			}
			return nil
		}), strings.Fields(args)...)
		if r.Exit != 0 {
			t.Errorf("%s: %+v", args, r)
		}
	}
}

// The nodes load the images of the tests from the cache, or pull them, or it is said what to do before anything boots.
func TestImages(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	e := clitest.NewEnv(nil)
	s := &session{Show: stage.NewShow(e.Deps), o: &options{Deps: e.Deps, registry: server.URL, cache: t.TempDir()}, release: release.Default()}
	defer s.Close()
	if got, err := s.images(t.Context()); err != nil || got != nil {
		t.Errorf("with a registry: %v, %v", got, err)
	}
	server.Close()
	got, err := s.images(t.Context())
	if failure := new(report.Error); !errors.As(err, &failure) || failure.Exit != report.Prerequisite || !strings.Contains(failure.Try, "build -tests") {
		t.Errorf("without both: %v, %v", got, err)
	}
	archive := filepath.Join(s.o.cache, "tests-"+s.release.Version+"-0123.tar")
	for _, path := range []string{archive, filepath.Join(s.o.cache, "tests-v1.20.0-0123.tar"), archive + ".new"} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := s.images(t.Context()); err != nil || len(got) != 1 || got[0] != archive {
		t.Errorf("with an archive: %v, %v", got, err)
	}
}
