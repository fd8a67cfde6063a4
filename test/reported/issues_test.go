package reported

import (
	"os"
	"strings"
	"testing"
)

// TestReportsAreDistinct: each report has a unique name and unique machines, and links its issue.
func TestReportsAreDistinct(t *testing.T) {
	saw, vms := map[string]bool{}, map[string]bool{}
	for _, r := range reportsOf(phases()) {
		if saw[r.saw] {
			t.Errorf("%q stands twice", r.saw)
		}
		if len(r.issues) == 0 {
			t.Errorf("%q: nobody reported it", r.saw)
		}
		saw[r.saw] = true
		for _, v := range r.vms {
			if vms[v.name] {
				t.Errorf("%q: VM %s is that of another report, too", r.saw, v.name)
			}
			vms[v.name] = true
		}
	}
}

// TestIssuesAreInTheDocs: the page about the provider has every issue that is tried here, and names TestReported for no
// other.
func TestIssuesAreInTheDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/provider.md")
	if err != nil {
		t.Fatal(err)
	}
	tried := map[string]bool{}
	for _, r := range reportsOf(phases()) {
		for _, issue := range r.issues {
			tried[issue] = true
		}
	}
	listed := listedIssues(string(page))
	named := false
	for issue, here := range listed {
		named = named || here
		if here && !tried[issue] {
			t.Errorf("docs/provider.md names TestReported for %s, which is not tried", issue)
		}
	}
	for issue := range tried {
		if here, ok := listed[issue]; named && (!ok || !here) {
			t.Errorf("docs/provider.md does not name TestReported for %s", issue)
		}
	}
}

// listedIssues returns the issues in the page's table, each with whether its row names TestReported.
func listedIssues(page string) map[string]bool {
	_, section, _ := strings.Cut(page, "## What people reported")
	section, _, _ = strings.Cut(section, "\n## ")
	issues := map[string]bool{}
	for row := range strings.Lines(section) {
		cells := strings.Split(row, "|")
		if len(cells) < 4 || !strings.Contains(cells[1], "#") {
			continue
		}
		project := ""
		for issue := range strings.SplitSeq(cells[1], ",") {
			whose, number, _ := strings.Cut(strings.TrimSpace(issue), "#")
			if whose != "" {
				project = whose
			}
			issues[project+"#"+number] = issues[project+"#"+number] || strings.Contains(row, "TestReported")
		}
	}
	return issues
}
