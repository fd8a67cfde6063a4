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
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/verdict"
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
	CCM   Program
	Suite result.Suite
	// Timelines are those of the scenarios, by their names: see [scenario.Timeline].
	Timelines map[string]string
}

// Compare runs the suite with each of them, one after the other. It ignores the options Program and Baseline. After the end of ctx it
// skips the rest.
func Compare(ctx context.Context, list []Program, o Options) *Comparison {
	o = o.withDefaults()
	c := &Comparison{Began: time.Now(), Speed: o.Speed, Seed: o.Seed}
	number := 0
	for _, ccm := range list {
		o.Progress("\n%s", ccm)
		column := Column{CCM: ccm, Timelines: map[string]string{}}
		options := scenario.Options{
			Seed: o.Seed, Patience: o.Patience,
			KnownToFail: func(s *scenario.Scenario) bool { return verdict.Find(s.Fails, ccm) != nil },
			Observe: func(u result.Update) {
				if u.Change == result.ScenarioBegan {
					number++
				}
				u.Number, u.Of = number, len(list)*len(o.Suite)
				o.Observe(judgedSoFar(u, o.Suite, ccm, o.Strict))
			},
		}
		checks := map[string]verdict.Check{}
		boot := func(ctx context.Context, need scenario.Requirements) (*scenario.Running, error) {
			return o.Boot(ctx, ccm, need)
		}
		column.Suite = scenario.RunAll(ctx, o.Suite, boot, options, func(s *scenario.Scenario, out scenario.Outcome) {
			column.Timelines[s.Metadata.Name] = course(&out.Scenario)
			checks[s.Metadata.Name] = verdict.Check{Known: verdict.Find(s.Fails, ccm), Must: s.Must}
			for _, left := range out.Left {
				o.Progress("  is not as it was: %s", left)
			}
		})
		column.Suite.Name, column.Suite.CCM, column.Suite.CCMVersion = "matrix", ccm.Source, ccm.Version
		rules := verdict.Rules{Strict: o.Strict, Trends: len(c.Columns) > 0}
		for i := range column.Suite.Scenarios {
			s := &column.Suite.Scenarios[i]
			check := checks[s.Name]
			check.Result = s
			if rules.Trends {
				column.Suite.Baseline = c.Columns[0].CCM.String()
				check.Baseline, check.Of = c.Columns[0].find(s.Name), &c.Columns[0].CCM
			}
			s.Judgment = rules.Judge(check)
		}
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

// Verdict returns the worst of all, as they count.
func (c *Comparison) Verdict() result.Verdict {
	var all []result.Verdict
	for i := range c.Columns {
		all = append(all, c.Columns[i].Suite.Verdict())
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

// Table writes a report as Markdown, for an issue of a release: the checks, known defects apart from them, and further tables.
func Table(w io.Writer, r *Report) error {
	var b strings.Builder
	only := ""
	if len(r.Only) > 0 { // marks an incomplete run
		only = " (only " + cell(strings.Join(r.Only, ", ")) + ")"
	}
	fmt.Fprintf(&b, "### smoke: %s: %s%s\n\n", cell(r.Program.String()), strings.ToUpper(report.Headline(&r.Suite)), only)
	b.WriteString(head(r))
	rows := [][]string{{"check", "verdict"}}
	if r.Baseline != nil {
		rows[0] = append(rows[0], "beside "+r.Baseline.Source)
	}
	rows[0] = append(rows[0], "took", "note")
	for i := range r.Suite.Scenarios {
		s := &r.Suite.Scenarios[i]
		row := []string{name(s), report.Word(s)}
		if r.Baseline != nil {
			row = append(row, string(s.Judgment.Trend))
		}
		rows = append(rows, append(row, took(s), note(s)))
	}
	b.WriteString(markdown(rows, 0))
	b.WriteString("\n" + r.sum() + "\n")
	b.WriteString(defects(&r.Suite))
	for _, t := range r.Suite.Tables {
		b.WriteString("\n" + markdown(append([][]string{t.Header}, t.Rows...), t.Numbers))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// defects lists the known defects that made checks fail, apart from what the release is judged by.
func defects(s *result.Suite) string {
	list := report.Defects(s)
	if len(list) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nKnown defects:\n\n")
	for _, d := range list {
		why := report.Defect(result.Judgment{Known: d.Why, Issues: d.Issues})
		fmt.Fprintf(&b, "- %s: %s\n", cell(why), cell(strings.Join(d.Scenarios, ", ")))
	}
	return b.String()
}

// head describes what was tested, and with what.
func head(r *Report) string {
	parts := []string{kindOf(r.Program).short + " " + r.Program.String()}
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

func took(s *result.Scenario) string {
	if s.Verdict == result.Skipped || s.Took <= 0 {
		return ""
	}
	return report.Took(s.Took)
}

// note returns how the verdict counts, and why a check did not pass. Known defects are listed apart.
func note(s *result.Scenario) string {
	judged := report.Judged(s)
	switch {
	case judged == "" || s.Shown() == result.Known:
		return s.Message
	case s.Message == "":
		return judged
	}
	return judged + "; " + s.Message
}

// sum counts the checks by verdict, and by trend.
func (r *Report) sum() string {
	text := report.Counted(&r.Suite, "check")
	if trends := report.Trends(&r.Suite); trends != "" {
		text += "; beside the baseline: " + trends
	}
	return text + "; in " + report.Took(r.Suite.Took) + "."
}

// calls returns the table of phases, or nil if none was measured.
func (r *Report) calls() *result.Table {
	header := []string{"calls to the vCenters", r.Program.String()}
	if r.Baseline != nil {
		header = append(header, r.Baseline.String(), "ratio")
	}
	t := &result.Table{Title: "Calls to the vCenters", Numbers: len(header) - 1, Header: append(header, "most of them")}
	for _, p := range r.Phases {
		if p.Release == nil && p.Baseline == nil {
			continue
		}
		row := []string{p.Text, number(p.Release)}
		if r.Baseline != nil {
			row = append(row, number(p.Baseline), ratio(p))
		}
		t.Rows = append(t.Rows, append(row, most(p)))
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

func number(counts []Count) string {
	if counts == nil {
		return "–"
	}
	return strconv.FormatUint(Total(counts), 10)
}

// ratio returns the ratio to the baseline.
func ratio(p Phase) string {
	if p.Release == nil || Total(p.Baseline) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f×", float64(Total(p.Release))/float64(Total(p.Baseline)))
}

// most returns the most frequent methods; with a baseline those with the largest difference.
func most(p Phase) string {
	const shown = 3
	now, was := byMethod(p.Release), byMethod(p.Baseline)
	if p.Baseline == nil || p.Release == nil {
		was = map[string]uint64{}
		if p.Release == nil {
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
		case p.Baseline == nil || p.Release == nil:
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

// Table returns the table of the verdicts, for other reports.
func (c *Comparison) Table() result.Table {
	rows := c.rows()
	return result.Table{Title: "Verdicts side by side", Header: rows[0], Rows: rows[1:]}
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
	if s == nil {
		return ""
	}
	text := report.Word(s)
	if s.Judgment.Trend != "" && s.Judgment.Trend != result.Same {
		text += ", " + string(s.Judgment.Trend)
	}
	if took := took(s); took != "" {
		text += " in " + took
	}
	return text
}

// sums returns for each column why scenarios did not pass, and the known defects apart from that.
func (c *Comparison) sums() string {
	var b strings.Builder
	for i := range c.Columns {
		column := &c.Columns[i]
		fmt.Fprintf(&b, "- %s: %s", cell(column.CCM.String()), report.Sum(&column.Suite))
		if trends := report.Trends(&column.Suite); trends != "" {
			b.WriteString("; beside the first: " + trends)
		}
		b.WriteString("\n")
		for j := range column.Suite.Scenarios {
			s := &column.Suite.Scenarios[j]
			if shown := s.Shown(); shown != result.Passed && shown != result.Known {
				fmt.Fprintf(&b, "  - %s: %s\n", cell(name(s)), cell(note(s)))
			}
		}
		for _, d := range report.Defects(&column.Suite) {
			why := report.Defect(result.Judgment{Known: d.Why, Issues: d.Issues})
			fmt.Fprintf(&b, "  - known: %s: %s\n", cell(why), cell(strings.Join(d.Scenarios, ", ")))
		}
	}
	return b.String()
}

// MatrixJSON writes a comparison as one document.
func MatrixJSON(w io.Writer, c *Comparison) error {
	type column struct {
		CCM     Program         `json:"ccm"`
		Results json.RawMessage `json:"results"`
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
		doc.Columns = append(doc.Columns, column{c.Columns[i].CCM, results})
	}
	return write(w, doc)
}
