package smoke

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/installed"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report/golden"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// Each release that is broken on purpose is one finding of one check, and what is not broken is not blamed.
func TestInstalled(t *testing.T) {
	text, err := os.ReadFile("../../cluster/installed/testdata/release.yaml")
	if err != nil {
		t.Fatal(err)
	}
	request := func(verb string, code int) (q installed.Request) {
		q.Verb, q.RequestURI, q.ResponseStatus.Code = verb, "/api/v1/nodes/a", code
		q.ObjectRef = &struct {
			Resource    string `json:"resource"`
			Namespace   string `json:"namespace"`
			Name        string `json:"name"`
			APIGroup    string `json:"apiGroup"`
			Subresource string `json:"subresource"`
		}{Resource: "nodes", Name: "a", Subresource: "status"}
		return q
	}
	upstream, baseline := Program{Source: "module:v1.40.0", Version: "v1.40.0"}, Program{Source: "module:v1.39.0", Version: "v1.39.0"}
	for _, tc := range []struct {
		name     string
		old, new string // in the manifest of the release
		boot     string // why the release does not come up
		code     int    // of its request
		baseline bool
		verdict  result.Verdict
	}{
		{name: "installed", code: 200, verdict: result.Passed},
		{name: "installed-refused", code: 403, baseline: true, verdict: result.Failed},
		{name: "installed-unschedulable", old: "port: 10260, scheme", new: "port: 10999, scheme", baseline: true, verdict: result.Failed},
		{name: "installed-wrong-argument", boot: "ccm: exit status 1: unknown flag: --cluod-config", verdict: result.Failed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := Options{Program: upstream, Suite: []*scenario.Scenario{parse(t, good)}}
				if tc.baseline {
					o.Baseline = &baseline
				}
				o.Installed = func(c Program) *installed.Installation {
					manifest := string(text)
					if c == upstream {
						manifest = strings.ReplaceAll(manifest, tc.old, tc.new)
					}
					i, err := installed.Read("releases/v1.40/ccm.yaml", []byte(manifest))
					if err != nil {
						t.Fatal(err)
					}
					return i
				}
				if tc.old == "" {
					tc.old, tc.new = "x", "x"
				}
				o.Requests = func(_ context.Context, r *scenario.Running, _ *installed.Installation) ([]installed.Request, error) {
					if r.CCM == upstream.Source && tc.code != 200 {
						return []installed.Request{request("patch", 200), request("update", tc.code)}, nil
					}
					return []installed.Request{request("patch", 200)}, nil
				}
				o.Unhealthy = func(err error) bool { return strings.HasPrefix(err.Error(), "ccm: ") }
				o.refuse = func(c Program) error {
					if c == upstream && tc.boot != "" {
						return errors.New(tc.boot)
					}
					return nil
				}
				r, boots, stops := judge(t, o, nil)
				if boots != stops || r.Suite.Verdict() != tc.verdict {
					t.Errorf("%q with %d boots, %d stops, want %q", r.Suite.Verdict(), boots, stops, tc.verdict)
				}
				if tc.verdict == result.Failed {
					failed := r.Suite.Count(result.Failed)
					if failed != 1 || r.Suite.Count(result.Errored) != 0 {
						t.Errorf("%d findings: %s", failed, report.Sum(&r.Suite))
					}
				}
				var b bytes.Buffer
				if err := Table(&b, r); err != nil {
					t.Fatal(err)
				}
				golden.Equal(t, tc.name+".md", dates.ReplaceAllString(b.String(), "DATE"))
			})
		})
	}
}
