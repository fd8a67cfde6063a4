package conformance

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret/mask"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// Report is the result of a run.
type Report struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Kubernetes is the release of the cluster and of the tests.
	Kubernetes string `json:"kubernetes"`
	// Cluster is how it was made: "embedded", "kind". CSI is its driver: "off", "builtin", "module:v3.7.0".
	Cluster  string    `json:"cluster,omitempty"`
	CSI      string    `json:"csi,omitempty"`
	Suite    string    `json:"suite"`
	Outcomes []Outcome `json:"outcomes"`
	Skipped  []Skipped `json:"skipped"`
}

// The names of the document.
const (
	APIVersion = "sandbox.vsphere/v1alpha1"
	Kind       = "ConformanceReport"
)

// Add adds what an earlier report of the same cluster has of tests that this one does not have: a run with --focus is only about a
// part of them. Names in a report that was kept are masked, and so are those that it is compared by.
func (r *Report) Add(before Report) {
	var shapes mask.Mask
	has := map[string]bool{}
	for i := range r.Outcomes {
		has[shapes.String(r.Outcomes[i].Name)] = true
	}
	for i := range r.Skipped {
		has[shapes.String(r.Skipped[i].Name)] = true
	}
	for _, o := range before.Outcomes {
		if !has[shapes.String(o.Name)] {
			r.Outcomes = append(r.Outcomes, o)
		}
	}
	for _, s := range before.Skipped {
		if !has[shapes.String(s.Name)] {
			r.Skipped = append(r.Skipped, s)
		}
	}
}

// Results returns the report as results of scenarios: one for each test, with its SIG as the theme, failures first.
func (r *Report) Results() []result.Scenario {
	var all []result.Scenario
	for i := range r.Outcomes {
		o := &r.Outcomes[i]
		all = append(all, result.Scenario{
			Name: o.Name, Theme: "sig-" + o.SIG(), File: o.File, Verdict: o.Verdict, Message: o.Message, Began: o.Began, Took: o.Took,
		})
	}
	for i := range r.Skipped {
		s := &r.Skipped[i]
		all = append(all, result.Scenario{Name: s.Name, Theme: "sig-" + s.SIG(), File: s.File, Verdict: result.Skipped, Message: s.Reason})
	}
	slices.SortStableFunc(all, func(a, b result.Scenario) int {
		return cmp.Or(cmp.Compare(order(&a), order(&b)), strings.Compare(a.Theme, b.Theme), strings.Compare(a.Name, b.Name))
	})
	return all
}

// order is the place of a verdict in a report: first what needs a look.
func order(s *result.Scenario) int {
	return slices.Index([]result.Verdict{result.Errored, result.Failed, result.Interrupted, result.Running, result.Passed, result.Skipped}, s.Verdict)
}

// Verdict is the worst of the outcomes.
func (r *Report) Verdict() result.Verdict {
	var all []result.Verdict
	for i := range r.Outcomes {
		all = append(all, r.Outcomes[i].Verdict)
	}
	return result.Worst(all...)
}

// Table counts the tests by SIG.
func (r *Report) Table() result.Table {
	t := result.Table{Title: "Tests by SIG", Header: []string{"SIG", "passed", "flaky", "failed", "not run", "skipped"}, Numbers: 5}
	counts := map[string]*[5]int{}
	row := func(sig string) *[5]int {
		if counts[sig] == nil {
			counts[sig] = &[5]int{}
		}
		return counts[sig]
	}
	for i := range r.Outcomes {
		o := &r.Outcomes[i]
		c := row(o.SIG())
		switch {
		case o.Flaky:
			c[1]++
		case o.Verdict == result.Passed:
			c[0]++
		case o.Verdict == result.Failed || o.Verdict == result.Errored:
			c[2]++
		case o.Verdict == result.Skipped:
			c[4]++
		default:
			c[3]++
		}
	}
	for i := range r.Skipped {
		row(r.Skipped[i].SIG())[4]++
	}
	var sum [5]int
	for _, sig := range slices.Sorted(maps.Keys(counts)) {
		t.Rows = append(t.Rows, cells(sig, counts[sig]))
		for n := range sum {
			sum[n] += counts[sig][n]
		}
	}
	t.Rows = append(t.Rows, cells("all", &sum))
	return t
}

func cells(name string, counts *[5]int) []string {
	row := []string{name}
	for _, n := range counts {
		row = append(row, strconv.Itoa(n))
	}
	return row
}

// Markdown writes the table by SIG, what failed and was flaky, and how many tests were skipped for which reason.
func (r *Report) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### conformance: suite %s of Kubernetes %s\n\n", r.Suite, r.Kubernetes)
	t := r.Table()
	fmt.Fprintf(&b, "| %s |\n|---|%s\n", strings.Join(t.Header, " | "), strings.Repeat("---:|", t.Numbers))
	for _, row := range t.Rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
	}
	r.list(&b, "Failed", func(o *Outcome) bool { return o.Verdict == result.Failed || o.Verdict == result.Errored })
	r.list(&b, "Flaky", func(o *Outcome) bool { return o.Flaky })
	reasons := map[string]int{}
	for _, s := range r.Skipped {
		reasons[s.Reason]++
	}
	for i := range r.Outcomes {
		if o := &r.Outcomes[i]; o.Verdict == result.Skipped {
			reasons["by the test: "+o.Message]++
		}
	}
	if len(reasons) > 0 {
		b.WriteString("\n| skipped | |\n|---|---:|\n")
		order := slices.SortedFunc(maps.Keys(reasons), func(a, b string) int {
			return cmp.Or(reasons[b]-reasons[a], strings.Compare(a, b))
		})
		for _, reason := range order {
			fmt.Fprintf(&b, "| %s | %d |\n", cell(reason), reasons[reason])
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) list(b *strings.Builder, title string, chosen func(*Outcome) bool) {
	head := false
	for i := range r.Outcomes {
		o := &r.Outcomes[i]
		if !chosen(o) {
			continue
		}
		if !head {
			fmt.Fprintf(b, "\n| %s | why |\n|---|---|\n", strings.ToLower(title))
			head = true
		}
		fmt.Fprintf(b, "| %s | %s |\n", cell(o.Name), cell(o.Message))
	}
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
