package smoke

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// Table writes a report as Markdown, to be pasted into an issue of a release.
func Table(w io.Writer, r *Report) error {
	var b strings.Builder
	only := ""
	if len(r.Only) > 0 { // nobody is to take it for the whole
		only = " (only " + cell(strings.Join(r.Only, ", ")) + ")"
	}
	fmt.Fprintf(&b, "### smoke: %s %s%s\n\n", cell(r.CCM.String()), strings.ToUpper(string(r.Verdict())), only)
	b.WriteString(head(r))
	rows := [][]string{{"check", "verdict", "took", "note"}}
	for i := range r.Suite.Scenarios {
		s := &r.Suite.Scenarios[i]
		rows = append(rows, []string{name(s), r.word(s), took(s), r.note(s)})
	}
	b.WriteString(markdown(rows, 0))
	b.WriteString("\n" + r.sum() + "\n")
	if text := r.calls(); text != "" {
		b.WriteString("\n" + text)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// head says what was judged, with what.
func head(r *Report) string {
	parts := []string{"CCM " + r.CCM.String()}
	if r.Baseline != nil {
		parts = append(parts, "baseline "+r.Baseline.String())
	} else {
		parts = append(parts, "no baseline")
	}
	parts = append(parts, "speed "+strconv.FormatFloat(r.Suite.Speed, 'f', -1, 64), fmt.Sprintf("seed %d", r.Suite.Seed),
		r.Suite.Began.UTC().Format(time.DateOnly), "vsphere-sandbox "+r.Suite.Version, "Kubernetes "+r.Suite.KubernetesVersion)
	return cell(strings.Join(parts, " · ")) + "\n\n"
}

func name(s *result.Scenario) string {
	if s.Theme == "" || s.Theme == theme {
		return s.Name
	}
	return s.Theme + "/" + s.Name
}

// word is a verdict in words that cannot be taken for another.
func (r *Report) word(s *result.Scenario) string {
	switch known := r.known(s); {
	case known != "" && r.Strict:
		return "✗ failed (known)"
	case known != "":
		return "✗ known to fail"
	case s.Verdict == result.Running:
		return "… not ended"
	}
	return report.Glyph(s.Verdict) + " " + string(s.Verdict)
}

func took(s *result.Scenario) string {
	if s.Verdict == result.Skipped {
		return ""
	}
	return report.Took(s.Took)
}

// note says why a check did not pass: what was known, and what was found.
func (r *Report) note(s *result.Scenario) string {
	switch known := r.known(s); {
	case known != "":
		return "known: " + known + "; found: " + s.Message
	case s.Verdict == result.Passed && r.Known[s.Name] != "":
		return "was known to fail (" + r.Known[s.Name] + "), and passes"
	}
	return s.Message
}

// sum counts the checks by what they came to.
func (r *Report) sum() string {
	counts := map[string]int{}
	order := []string{"passed", "failed", "errored", "known to fail", "skipped"}
	for i := range r.Suite.Scenarios {
		s := &r.Suite.Scenarios[i]
		word := string(s.Verdict)
		if r.known(s) != "" && !r.Strict {
			word = "known to fail"
		}
		counts[word]++
	}
	var parts []string
	for _, word := range order {
		if counts[word] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[word], word))
		}
	}
	return fmt.Sprintf("%d checks: %s, in %s.", len(r.Suite.Scenarios), strings.Join(parts, ", "), report.Took(r.Suite.Took))
}

// calls is the table of phases.
func (r *Report) calls() string {
	header := []string{"calls to the vCenters", r.CCM.String()}
	if r.Baseline != nil {
		header = append(header, r.Baseline.String(), "ratio")
	}
	rows := [][]string{append(header, "most of them")}
	for _, p := range r.Phases {
		if p.CCM == nil && p.Baseline == nil {
			continue
		}
		row := []string{p.Text, number(p.CCM)}
		if r.Baseline != nil {
			row = append(row, number(p.Baseline), ratio(p))
		}
		rows = append(rows, append(row, most(p)))
	}
	if len(rows) == 1 {
		return ""
	}
	return markdown(rows, len(header)-1)
}

func number(counts []Count) string {
	if counts == nil {
		return "–"
	}
	return strconv.FormatUint(Total(counts), 10)
}

// ratio is how many times as many as the baseline's.
func ratio(p Phase) string {
	if p.CCM == nil || Total(p.Baseline) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f×", float64(Total(p.CCM))/float64(Total(p.Baseline)))
}

// most tells the methods that are called most; beside a baseline those of which the number differs most.
func most(p Phase) string {
	const told = 3
	now, was := byMethod(p.CCM), byMethod(p.Baseline)
	if p.Baseline == nil || p.CCM == nil {
		was = map[string]uint64{}
		if p.CCM == nil {
			now = byMethod(p.Baseline)
		}
	}
	var methods []string
	for m := range now {
		methods = append(methods, m)
	}
	for m := range was {
		if _, there := now[m]; !there {
			methods = append(methods, m)
		}
	}
	weight := func(m string) uint64 { return max(now[m], was[m]) - min(now[m], was[m]) }
	slices.SortFunc(methods, func(a, b string) int {
		if wa, wb := weight(a), weight(b); wa != wb {
			return int(wb) - int(wa)
		}
		return strings.Compare(a, b)
	})
	var parts []string
	for _, m := range methods[:min(told, len(methods))] {
		switch {
		case p.Baseline == nil || p.CCM == nil:
			parts = append(parts, fmt.Sprintf("%d %s", now[m], short(m)))
		case weight(m) > 0:
			parts = append(parts, fmt.Sprintf("%s %d (was %d)", short(m), now[m], was[m]))
		}
	}
	return strings.Join(parts, ", ")
}

func byMethod(counts []Count) map[string]uint64 {
	sums := map[string]uint64{}
	for _, c := range counts {
		sums[c.Method] += c.Calls
	}
	return sums
}

// short is a method without what all of its kind have in common.
func short(method string) string {
	return strings.NewReplacer("/rest/com/vmware/cis/", "", "?~action=", " ").Replace(method)
}
