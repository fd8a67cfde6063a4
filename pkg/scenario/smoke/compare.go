package smoke

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// Comparison is the result of the same suite for several cloud controller managers.
type Comparison struct {
	Columns []Column
	Began   time.Time
	Took    time.Duration
	Speed   float64
	Seed    uint64
	// Version is this program's, KubernetesVersion the control plane's.
	Version, KubernetesVersion string
}

// Column is the result of one of them.
type Column struct {
	CCM   CCM
	Suite result.Suite
	// Timelines are those of the scenarios, by their names: see [scenario.Timeline].
	Timelines map[string]string
	// Known are the reasons of known failures, by scenario.
	Known map[string]string
}

// Compare runs the suite with each of them, one after the other. It ignores the options CCM and Baseline. After the end of ctx it
// skips the rest.
func Compare(ctx context.Context, list []CCM, o Options) *Comparison {
	o = o.withDefaults()
	c := &Comparison{Began: time.Now(), Speed: o.Speed, Seed: o.Seed}
	number := 0
	for _, ccm := range list {
		o.Progress("\n%s", ccm)
		column := Column{CCM: ccm, Timelines: map[string]string{}, Known: map[string]string{}}
		options := scenario.Options{Seed: o.Seed, Patience: o.Patience, Observe: func(u result.Update) {
			if u.Change == result.ScenarioBegan {
				number++
			}
			u.Number, u.Of = number, len(list)*len(o.Suite)
			o.Observe(u)
		}}
		boot := func(ctx context.Context, need scenario.Requirements) (*scenario.Running, error) {
			return o.Boot(ctx, ccm, need)
		}
		column.Suite = scenario.RunAll(ctx, o.Suite, boot, options, func(s *scenario.Scenario, out scenario.Outcome) {
			column.Timelines[s.Metadata.Name] = out.Timeline
			if why := ccm.knownIn(s.Fails); why != "" && out.Verdict == result.Failed {
				column.Known[s.Metadata.Name] = why
			}
			for _, left := range out.Left {
				o.Progress("  is not as it was: %s", left)
			}
		})
		column.Suite.Name, column.Suite.CCM, column.Suite.CCMVersion = "matrix", ccm.Source, ccm.Version
		c.Columns = append(c.Columns, column)
	}
	c.Took = time.Since(c.Began)
	return c
}

// find returns the result of a scenario, or nil if it was not run.
func (c *Column) find(name string) *result.Scenario {
	for i := range c.Suite.Scenarios {
		if c.Suite.Scenarios[i].Name == name {
			return &c.Suite.Scenarios[i]
		}
	}
	return nil
}

// Verdict returns the worst of all; known failures count only with strict.
func (c *Comparison) Verdict(strict bool) result.Verdict {
	var all []result.Verdict
	for i := range c.Columns {
		column := &c.Columns[i]
		for j := range column.Suite.Scenarios {
			s := &column.Suite.Scenarios[j]
			if column.Known[s.Name] == "" || strict {
				all = append(all, s.Verdict)
			} else {
				all = append(all, result.Passed)
			}
		}
	}
	return result.Worst(all...)
}

// Difference is how a scenario differs from the first column.
type Difference struct {
	Scenario string `json:"scenario"`
	CCM      string `json:"ccm"`
	Than     string `json:"than"`
	// Lines are the lines of only one timeline: "- " of the first column, "+ " of this one.
	Lines []string `json:"timeline,omitempty"`
	// Latencies are steps with a clearly different latency.
	Latencies []string `json:"latencies,omitempty"`
}

// Differences compares each column with the first, and leaves out equal timelines.
func (c *Comparison) Differences() []Difference {
	all := []Difference{}
	if len(c.Columns) < 2 {
		return all
	}
	first := &c.Columns[0]
	for i := range first.Suite.Scenarios {
		a := &first.Suite.Scenarios[i]
		for j := 1; j < len(c.Columns); j++ {
			column := &c.Columns[j]
			b := column.find(a.Name)
			if b == nil {
				continue
			}
			d := Difference{
				Scenario: name(a), CCM: column.CCM.String(), Than: first.CCM.String(),
				Lines: diff(lines(first.Timelines[a.Name]), lines(column.Timelines[a.Name])), Latencies: latencies(a, b),
			}
			if len(d.Lines)+len(d.Latencies) > 0 {
				all = append(all, d)
			}
		}
	}
	return all
}

func lines(text string) []string { return strings.Split(strings.TrimRight(text, "\n"), "\n") }

// diff returns the lines of only one of two lists, those of a with "- ", those of b with "+ ".
func diff(a, b []string) []string {
	// common[i][j] is the length of the longest common subsequence of a[i:] and b[j:].
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i, x := range slices.Backward(a) {
		for j, y := range slices.Backward(b) {
			if x == y {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var out []string
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			out = append(out, "- "+a[i])
			i++
		default:
			out = append(out, "+ "+b[j])
			j++
		}
	}
	return out
}

// The minimum difference of two latencies: less is noise.
const (
	latencyLeast = time.Second
	latencyTimes = 1.5
)

// latencies compares the latencies of steps that both waited for.
func latencies(a, b *result.Scenario) []string {
	var all []string
	for i := range a.Steps {
		if i >= len(b.Steps) {
			break
		}
		x, y := a.Steps[i], b.Steps[i]
		if x.Verdict != result.Passed || y.Verdict != result.Passed || x.Latency <= 0 || y.Latency <= 0 {
			continue
		}
		long, short := max(x.Latency, y.Latency), min(x.Latency, y.Latency)
		if long-short >= latencyLeast && float64(long) >= latencyTimes*float64(short) {
			all = append(all, fmt.Sprintf("%s %s: %s, was %s", y.Action, report.Line(y.Text), report.Took(y.Latency), report.Took(x.Latency)))
		}
	}
	return all
}

// Table writes a report as Markdown, for an issue of a release.
func Table(w io.Writer, r *Report) error {
	var b strings.Builder
	only := ""
	if len(r.Only) > 0 { // marks an incomplete run
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

// head describes what was tested, and with what.
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

// word returns a verdict as an unambiguous word.
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

// note returns why a check did not pass: the known reason, and the message.
func (r *Report) note(s *result.Scenario) string {
	switch known := r.known(s); {
	case known != "":
		return "known: " + known + "; found: " + s.Message
	case s.Verdict == result.Passed && r.Known[s.Name] != "":
		return "was known to fail (" + r.Known[s.Name] + "), and passes"
	}
	return s.Message
}

// sum counts the checks by verdict.
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

// calls returns the table of phases.
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

// ratio returns the ratio to the baseline.
func ratio(p Phase) string {
	if p.CCM == nil || Total(p.Baseline) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f×", float64(Total(p.CCM))/float64(Total(p.Baseline)))
}

// most returns the most frequent methods; with a baseline those with the largest difference.
func most(p Phase) string {
	const shown = 3
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
	for _, m := range methods[:min(shown, len(methods))] {
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

// short returns a method without the common prefix.
func short(method string) string {
	return strings.NewReplacer("/rest/com/vmware/cis/", "", "?~action=", " ").Replace(method)
}

// Matrix writes a comparison as Markdown: the verdicts side by side, and below them the differences of the timelines.
func Matrix(w io.Writer, c *Comparison) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### matrix\n\nspeed %s · seed %d · %s · vsphere-sandbox %s · Kubernetes %s\n\n",
		strconv.FormatFloat(c.Speed, 'f', -1, 64), c.Seed, c.Began.UTC().Format(time.DateOnly), cell(c.Version), cell(c.KubernetesVersion))
	b.WriteString(markdown(c.rows(), 0))
	b.WriteString("\n" + c.sums())
	differences := c.Differences()
	if len(c.Columns) > 1 && len(differences) == 0 {
		b.WriteString("\nTheir timelines do not differ.\n")
	}
	for _, d := range differences {
		fmt.Fprintf(&b, "\n#### %s: %s beside %s\n\n", cell(d.Scenario), cell(d.CCM), cell(d.Than))
		if len(d.Lines) > 0 {
			b.WriteString("```diff\n")
			for _, line := range d.Lines {
				b.WriteString(strings.ReplaceAll(line, "```", "'''") + "\n")
			}
			b.WriteString("```\n")
		}
		for _, l := range d.Latencies {
			b.WriteString("- " + cell(l) + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// rows returns the scenarios, with the verdict and duration of each column.
func (c *Comparison) rows() [][]string {
	head := []string{"scenario"}
	for _, column := range c.Columns {
		head = append(head, column.CCM.String())
	}
	rows := [][]string{head}
	if len(c.Columns) == 0 {
		return rows
	}
	for i := range c.Columns[0].Suite.Scenarios {
		one := &c.Columns[0].Suite.Scenarios[i]
		row := []string{name(one)}
		for j := range c.Columns {
			row = append(row, c.Columns[j].word(one.Name))
		}
		rows = append(rows, row)
	}
	return rows
}

func (c *Column) word(scenario string) string {
	s := c.find(scenario)
	switch {
	case s == nil:
		return ""
	case s.Verdict == result.Failed && c.Known[scenario] != "":
		return "✗ known to fail"
	case s.Verdict == result.Skipped:
		return report.Glyph(s.Verdict) + " skipped"
	}
	return report.Glyph(s.Verdict) + " " + string(s.Verdict) + " in " + report.Took(s.Took)
}

// sums returns for each column why scenarios did not pass.
func (c *Comparison) sums() string {
	var b strings.Builder
	for i := range c.Columns {
		column := &c.Columns[i]
		fmt.Fprintf(&b, "- %s: %s\n", cell(column.CCM.String()), report.Sum(&column.Suite))
		for j := range column.Suite.Scenarios {
			s := &column.Suite.Scenarios[j]
			if s.Verdict == result.Passed {
				continue
			}
			text := s.Message
			if known := column.Known[s.Name]; known != "" {
				text = "known: " + known + "; found: " + text
			}
			fmt.Fprintf(&b, "  - %s: %s\n", cell(name(s)), cell(text))
		}
	}
	return b.String()
}

// MatrixJSON writes a comparison as one document.
func MatrixJSON(w io.Writer, c *Comparison) error {
	type column struct {
		CCM     CCM               `json:"ccm"`
		Known   map[string]string `json:"known,omitempty"`
		Results json.RawMessage   `json:"results"`
	}
	doc := struct {
		APIVersion  string       `json:"apiVersion"`
		Kind        string       `json:"kind"`
		Columns     []column     `json:"columns"`
		Differences []Difference `json:"differences"`
	}{APIVersion, KindComparison, []column{}, c.Differences()}
	for i := range c.Columns {
		results, err := suiteDocument(&c.Columns[i].Suite)
		if err != nil {
			return err
		}
		doc.Columns = append(doc.Columns, column{c.Columns[i].CCM, c.Columns[i].Known, results})
	}
	return write(w, doc)
}
