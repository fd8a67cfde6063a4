package smoke

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

func TestJudgeVersion(t *testing.T) {
	for _, tc := range []struct {
		c                    Program
		said, found, verdict string
	}{
		{Program{Source: "builtin", Version: "v1.36.4", Own: true}, "vsphere-cloud-controller-manager v1.36.4\n", "says v1.36.4, as its source does", "passed"},
		{Program{Source: "builtin", Version: "191b009", Own: true}, "vsphere-cloud-controller-manager 191b009 (Kubernetes v1.36.4)\n", "says 191b009, as its source does", "passed"},
		{Program{Source: "builtin", Version: "v0.2.0", Own: true}, "vsphere-cloud-controller-manager v0.1.0 (Kubernetes v1.36.4)\n", "says v0.1.0, its source says v0.2.0", "failed"},
		{Program{Source: "./mine"}, "mine v0.1.0-5-gabc", "says v0.1.0-5-gabc", "passed"},
		{Program{Source: "image:x:v1.36.0", Version: "v1.36.0"}, "ccm v1.35.0", "says v1.35.0, its source says v1.36.0", "failed"},
		{Program{Source: "image:x:v1.36.0", Version: "v1.36.0"}, "ccm ", `says "ccm", which is no version`, "failed"},
		{Program{Source: "module:v1.36.0", Version: "v1.36.0"}, "ccm \n", `says "ccm": the version is put in by upstream's make, not by the module`, "skipped"},
	} {
		found, err := judgeVersion(tc.c, tc.said)
		verdict := "passed"
		if err != nil {
			found, verdict = err.Error(), "failed"
			if _, skip := errors.AsType[errSkip](err); skip {
				verdict = "skipped"
			}
		}
		if found != tc.found || verdict != tc.verdict {
			t.Errorf("%s, %q: %s: %q", tc.c, tc.said, verdict, found)
		}
	}
}

func TestSessions(t *testing.T) {
	list, err := manager().readSessions("us", []byte(`{"sessionList": [
		{"key": "a", "userAgent": "vsphere-cloud-provider"}, {"key": "b", "userAgent": "k8s-cloud-provider-vsphere"}, {"key": "c", "userAgent": "govc/0"}]}`))
	if err != nil || len(list) != 2 {
		t.Fatalf("%v, %v", list, err)
	}
	later := []session{{vcenter: "us", key: "b"}, {vcenter: "eu", key: "a"}}
	if left := leftOf(list, later); len(left) != 1 || left[0].key != "b" {
		t.Errorf("left: %v", left)
	}
	if _, err := manager().readSessions("us", []byte("govc: no")); err == nil || !strings.HasPrefix(err.Error(), `vcenter "us": sessions: `) {
		t.Error(err)
	}
}

func TestCounts(t *testing.T) {
	const own, other = "vsphere-cloud-provider", "govc/0"
	before := []api.Calls{{VCenter: "us", Client: own, Method: "A", Calls: 5, Errors: 1}, {VCenter: "eu", Client: own, Method: "A", Calls: 50}}
	now := []api.Calls{
		{VCenter: "us", Client: own, Method: "A", Calls: 8, Errors: 2}, {VCenter: "eu", Client: own, Method: "A", Calls: 3}, // restarted
		{VCenter: "us", Client: own, Method: "B", Calls: 7}, {VCenter: "us", Client: other, Method: "A", Calls: 100},
	}
	got := manager().countsOf(since(before, now))
	want := []Count{{own, "B", 7, 0}, {own, "A", 6, 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := perMinute(got, 30*time.Second); Total(got) != 26 || Total(want) != 13 {
		t.Errorf("a minute: %v", got)
	}
	if got := manager().countsOf(nil); got == nil {
		t.Error("none is not the same as not measured")
	}
}

func TestDiff(t *testing.T) {
	for _, tc := range []struct{ a, b, want string }{
		{"x y z", "x y z", ""},
		{"x y z", "x z", "- y"},
		{"x z", "x y z w", "+ y + w"},
		{"x a z", "x b z", "- a + b"},
		{"", "x", "- ␀ + x"},
	} {
		split := func(s string) []string { return strings.Split(s, " ") }
		got := strings.ReplaceAll(strings.Join(diff(split(tc.a), split(tc.b)), " "), "-  ", "- ␀ ")
		if got != tc.want {
			t.Errorf("%q, %q: %q", tc.a, tc.b, got)
		}
	}
}

func TestLatencies(t *testing.T) {
	steps := func(d ...time.Duration) *result.Scenario {
		s := &result.Scenario{}
		for _, one := range d {
			s.Steps = append(s.Steps, result.Step{Action: "expect", Text: "node a", Verdict: result.Passed, Latency: one})
		}
		return s
	}
	got := latencies(steps(time.Second, 10*time.Second, 100*time.Millisecond, 4*time.Second), steps(3*time.Second, 11*time.Second, 500*time.Millisecond))
	if diff := cmp.Diff([]string{"expect node a: 3.00 s, was 1.00 s"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCell(t *testing.T) {
	if got := cell("a|b\n<img> `x` @someone " + strings.Repeat("y", mostCell)); strings.ContainsAny(got, "\n<`") || !strings.Contains(got, `a\|b &lt;img>`) || strings.Contains(got, "@s") || !strings.HasSuffix(got, "…") {
		t.Errorf("%q", got)
	}
}

func TestSuite(t *testing.T) {
	core, err := Suite("core")
	if err != nil || len(core) < 3 {
		t.Fatalf("%d, %v", len(core), err)
	}
	full, err := Suite("full")
	if err != nil || len(full) <= len(core) {
		t.Fatalf("%d, %v", len(full), err)
	}
	for _, s := range full {
		if s.Theme == theme {
			t.Errorf("%s is not for a suite", s.Metadata.Name)
		}
	}
	if _, err := Suite("moon"); err == nil {
		t.Error("there is no such suite")
	}
}
