package page

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report/sample"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// write returns the page of a run.
func write(t *testing.T, s *result.Suite) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, s); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Nothing is fetched, no text of a run becomes an element, and there is no style or handler that the policy would refuse.
func TestSelfContainedAndSafe(t *testing.T) {
	page := write(t, sample.Suite())
	if dir := os.Getenv("SAMPLE_PAGE"); dir != "" { // to look at it in a browser
		if err := os.WriteFile(dir, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	page = regexp.MustCompile(`(?s)<(style|script)>.*?</(style|script)>`).ReplaceAllString(page, "<$1>")
	count := map[string]int{}
	for _, tag := range regexp.MustCompile(`<([a-zA-Z]+)((?:[^>"]|"[^"]*")*)>`).FindAllStringSubmatch(page, -1) {
		count[tag[1]]++
		switch tag[1] {
		case "img", "iframe", "object", "embed", "base", "form", "b":
			t.Errorf("there is a %s", tag[0])
		}
		for _, a := range regexp.MustCompile(`([a-zA-Z-]+)="([^"]*)"`).FindAllStringSubmatch(tag[2], -1) {
			switch {
			case a[1] == "src", a[1] == "style", strings.HasPrefix(a[1], "on"):
				t.Errorf("there is a %s", tag[0])
			case a[1] == "href" && !strings.HasPrefix(a[2], "#") && a[2] != "data:,":
				t.Errorf("there is a link %s", tag[0])
			}
		}
	}
	if count["script"] != 1 || count["style"] != 1 || count["tr"] == 0 || count["path"] == 0 {
		t.Errorf("elements: %v", count)
	}
}

func TestWhole(t *testing.T) {
	page := write(t, sample.Suite())
	for _, want := range []string{
		"vm-powered-off", "4 scenarios: 1 passed, 1 failed, 1 errored, 1 skipped", "cloud-provider-vsphere#479", "tainted: shutdown", "&#43;4.72 s",
		"needs a real vCenter", `class="scenario failed" id="s2" open`, `class="scenario passed" id="s1">`, "17, 3 were missed",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("there is no %q", want)
		}
	}
}

// What the table of a release says, the page says in the same words.
func TestJudged(t *testing.T) {
	page := write(t, sample.Judged())
	if path := os.Getenv("JUDGED_PAGE"); path != "" { // to look at it in a browser
		if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{
		"<strong>errored</strong><span>6 scenarios: 1 passed, 2 failed, 1 errored, 1 known, 1 skipped<br>1 regressed, 1 fixed, 2 same, 0 new", "beside the baseline",
		`<span class="trend regressed">regressed</span>`, `<span class="trend fixed">fixed</span>`, `<span class="badge known">`, "must pass",
		"known: a VM that is off reports no hostname: no shutdown taint (cloud-provider-vsphere#479)", "same: the baseline fails, too",
		"<h3>Known defects</h3>", "<h3>Calls to the vCenters</h3>", `<td class="num">142</td>`, "SearchIndex.FindByUuid 90 (was 20)",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("there is no %q", want)
		}
	}
	s := sample.Judged()
	s.Scenarios, s.Baseline = s.Scenarios[4:5], ""
	if page := write(t, s); !strings.Contains(page, `<div class="verdict known"><strong>passed, 1 known failure</strong>`) {
		t.Error("the headline does not have the known failure")
	}
}

// A run of many events stays a page that a browser can show.
func TestManyEvents(t *testing.T) {
	s := &result.Suite{Name: "big", Scenarios: []result.Scenario{{Name: "big", Verdict: result.Failed, Began: sample.Began(), Took: time.Minute}}}
	for n := range 20000 {
		e := event.Event{
			Seq: uint64(n + 1), Time: sample.Began().Add(time.Duration(n) * 3 * time.Millisecond), Plane: event.PlaneKubernetes, Level: event.Info, Kind: "node.changed",
			Object: event.Object{Kind: "Node", Name: fmt.Sprintf("worker-%d", n%40)}, Message: "changed",
		}
		if n%50 == 1 {
			e.Cause = uint64(n)
		}
		s.Scenarios[0].Events = append(s.Scenarios[0].Events, e)
	}
	begin := time.Now()
	page := write(t, s)
	if took := time.Since(begin); len(page) > 2<<20 || took > 30*time.Second {
		t.Errorf("%d bytes in %s", len(page), took)
	}
	for _, want := range []string{"19300 events that had no effect are not drawn", "The newest 18000 are left out here"} {
		if !strings.Contains(page, want) {
			t.Errorf("there is no %q", want)
		}
	}
}

func TestNothingRan(t *testing.T) {
	for _, s := range []*result.Suite{{}, {Name: "x", Scenarios: []result.Scenario{{}, {Verdict: result.Passed, Events: []event.Event{{}}}}}} {
		if page := write(t, s); !strings.Contains(page, "</html>") {
			t.Error(page)
		}
	}
}
