package report

import (
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

func TestWords(t *testing.T) {
	suite := &result.Suite{Scenarios: []result.Scenario{{Verdict: result.Passed}, {Verdict: result.Skipped}, {Verdict: result.Failed}, {Verdict: result.Passed}}}
	for got, want := range map[string]string{
		Took(0):                       "0 s",
		Took(40 * time.Millisecond):   "40 ms",
		Took(4250 * time.Millisecond): "4.25 s",
		Took(42 * time.Second):        "42.0 s",
		Took(125 * time.Second):       "2m05s",
		Took(-time.Second):            "−1.00 s",
		Sum(suite):                    "4 scenarios: 2 passed, 1 failed, 1 skipped",
		Sum(&result.Suite{}):          "0 scenarios",
		Glyph(result.Errored):         "✗",
		Glyph(result.Running):         "…",
		Object(event.Object{}):        "",
		Object(event.Object{Kind: "VCenter", VCenter: "us", Name: "us"}):  "VCenter us",
		Object(event.Object{Kind: "VM", VCenter: "us", Name: "worker-1"}): "VM us/worker-1",
		Line(" a\n\tb\x1b[31m c\u202e "):                                  "a b\\x1b[31m c\\u202e",
		Lines("a\n\tb\x00\n"):                                             "a\n\tb\\x00",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
