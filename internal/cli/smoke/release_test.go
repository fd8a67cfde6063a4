package smoke

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
)

func TestBefore(t *testing.T) {
	all := []string{"v1.33.0", "v1.34.0", "v1.35.0", "v1.35.1", "v1.35.2-rc.0", "v1.36.0"}
	for version, want := range map[string][]string{
		"v1.36.0": {"v1.35.1", "v1.34.0"}, "v1.37.0-rc.0": {"v1.36.0", "v1.35.1"}, "v1.35.0": {"v1.34.0", "v1.33.0"}, "v1.2.0": nil,
	} {
		if got := before(version, all); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", version, got, want)
		}
	}
}

func TestCheckOptions(t *testing.T) {
	for args, want := range map[string]string{
		"":                              "release check needs a VERSION",
		"1.36.0":                        `release check: "1.36.0" is no version: want one such as v1.36.0`,
		"v1.36.0 --baseline x":          `release check: "x" is no version: want one such as v1.36.0`,
		"v1.36.0 --ccm moon:x":          `CCM "moon:x": there is no source "moon:"; want builtin, PATH, image:REF, archive:FILE or module:VERSION`,
		"v1.36.0 --as chart --suite no": `--suite "no": want core or full`,
	} {
		e := clitest.NewEnv(nil)
		r := e.Run(t.Context(), NewCmdRelease(e.Deps), append([]string{"check"}, strings.Fields(args)...)...)
		if r.Exit != report.Usage || r.Message != want {
			t.Errorf("%q: ended with %+v", args, r)
		}
	}
}

// The folder has a text with a line for each comparison, and the worst of them is the exit status.
func TestCheck(t *testing.T) {
	e := clitest.NewEnv(nil)
	dir := filepath.Join(t.TempDir(), "results")
	var ran []string
	cmd := newCmdCheck(e.Deps, func(ctx context.Context, o *checkOptions) error {
		o.versions = func(context.Context) []string { return []string{"v1.34.0", "v1.35.1", "v1.36.0"} }
		o.find = func(context.Context, ...string) error { return nil }
		o.smoke = func(_ context.Context, s *options) error {
			ran = append(ran, strings.Join([]string{s.ccm, s.baseline, s.kubernetes.Source, s.install.as, filepath.Base(s.artifacts)}, " "))
			fmt.Fprintf(s.Streams.Out, "### smoke: %s\n", s.ccm)
			if s.baseline == "module:v1.34.0" {
				return report.Exit(report.Degraded)
			}
			return nil
		}
		return check(ctx, o)
	})
	r := e.Run(t.Context(), cmd, "v1.36.0", "--artifacts", dir)
	if want := []string{"module:v1.36.0 module:v1.35.1 v1.35 manifest against-v1.35.1", "module:v1.36.0 module:v1.34.0 v1.34 manifest against-v1.34.0"}; r.Exit != report.Degraded || !slices.Equal(ran, want) {
		t.Errorf("ended with %+v, ran %q", r, ran)
	}
	text, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil || string(text) != e.Out.String() {
		t.Errorf("%v: %s", err, text)
	}
	for _, line := range []string{"| v1.35.1 | v1.35.4 | passed |\n", "| v1.34.0 | v1.34.4 | **failed** |\n", "\n#### smoke: module:v1.36.0\n"} {
		if !strings.Contains(string(text), line) {
			t.Errorf("no %q in\n%s", line, text)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "thesis"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := e.Run(t.Context(), newCmdCheck(e.Deps, nil), "v1.36.0", "--baseline", "v1.35.1", "--artifacts", dir); r.Exit != report.Usage || !strings.Contains(r.Message, "is not empty (thesis)") {
		t.Errorf("ended with %+v", r)
	}
}

// A baseline that cannot be had is a line of the text, before Kubernetes is built for it.
func TestCheckWithoutBaseline(t *testing.T) {
	e := clitest.NewEnv(nil)
	cmd := newCmdCheck(e.Deps, func(ctx context.Context, o *checkOptions) error {
		o.find = func(_ context.Context, sources ...string) error {
			return report.UsageError("again", "%s cannot be verified", sources[1])
		}
		o.smoke = func(context.Context, *options) error { t.Error("run all the same"); return nil }
		return check(ctx, o)
	})
	r := e.Run(t.Context(), cmd, "v1.36.0", "--baseline", "v1.35.1", "--artifacts", filepath.Join(t.TempDir(), "results"))
	if want := "| v1.35.1 | v1.35.4 | could not be run: module:v1.35.1 cannot be verified |\n"; r.Exit != report.Usage || !strings.Contains(e.Out.String(), want) {
		t.Errorf("ended with %+v, said %s", r, e.Out.String())
	}
}
