package smoke

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report/document"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// mostCell is the maximum number of characters in a cell: an issue must be readable.
const mostCell = 300

// markdown formats a table, aligned so that it is readable as text too. The first row is the header; the given number of columns
// after the first are numbers.
func markdown(rows [][]string, numbers int) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, text := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell(text)), 3)
		}
	}
	widths[len(widths)-1] = 3 // the last one is as long as it is
	var b strings.Builder
	for n, row := range rows {
		for i, text := range row {
			text = cell(text)
			pad := strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(text)))
			if i > 0 && i <= numbers {
				text, pad = pad+text, ""
			}
			b.WriteString("| " + text + pad + " ")
		}
		b.WriteString("|\n")
		if n == 0 {
			for i, width := range widths {
				line := strings.Repeat("-", width+2)
				if i > 0 && i <= numbers {
					line = strings.Repeat("-", width+1) + ":"
				}
				b.WriteString("|" + line)
			}
			b.WriteString("|\n")
		}
	}
	return b.String()
}

// cell escapes a text for a cell: on one line, shortened, and without markup.
func cell(text string) string {
	text = report.Line(text)
	if r := []rune(text); len(r) > mostCell {
		text = string(r[:mostCell-1]) + "…"
	}
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "`", "'", "@", "@\u200b").Replace(text)
}

// Report is the result of a smoke test.
type Report struct {
	// Suite has a scenario for each check, in their order, including checks in code.
	Suite result.Suite
	// Phases are the calls to the vCenters.
	Phases []Phase
	// Program is what was judged.
	Program Program
	// Baseline is nil when none was given.
	Baseline *Program
	Strict   bool
	// Only are the patterns of the checks; empty for all.
	Only []string
}

// APIVersion and the kinds of documents.
const (
	APIVersion     = document.APIVersion
	KindReport     = "SmokeReport"
	KindComparison = "Comparison"
)

// checkLine is a check in a document.
type checkLine struct {
	Name    string         `json:"name"`
	Verdict result.Verdict `json:"verdict"`
	// Trend compares it with the baseline, whose verdict is Baseline.
	Trend    result.Trend     `json:"trend,omitempty"`
	Baseline result.Verdict   `json:"baseline,omitempty"`
	Known    string           `json:"known,omitempty"`
	Issues   []string         `json:"issues,omitempty"`
	Must     bool             `json:"must,omitempty"`
	Took     document.Seconds `json:"took"`
	Message  string           `json:"message,omitempty"`
}

// phaseLine is a phase in a document.
type phaseLine struct {
	Name          string   `json:"name"`
	Text          string   `json:"text"`
	Total         *uint64  `json:"total,omitempty"`
	BaselineTotal *uint64  `json:"baselineTotal,omitempty"`
	Ratio         *float64 `json:"ratio,omitempty"`
	Calls         []Count  `json:"calls,omitempty"`
	BaselineCalls []Count  `json:"baselineCalls,omitempty"`
}

// JSON writes a report as one document; results has all about each check, as in "scenario run -o json".
func JSON(w io.Writer, r *Report) error {
	results, err := suiteDocument(&r.Suite)
	if err != nil {
		return err
	}
	doc := struct {
		APIVersion string          `json:"apiVersion"`
		Kind       string          `json:"kind"`
		Verdict    result.Verdict  `json:"verdict"`
		Strict     bool            `json:"strict"`
		Only       []string        `json:"only,omitempty"`
		CCM        *Program        `json:"ccm,omitempty"`
		CSI        *Program        `json:"csi,omitempty"`
		Baseline   *Program        `json:"baseline,omitempty"`
		Checks     []checkLine     `json:"checks"`
		Phases     []phaseLine     `json:"phases"`
		Results    json.RawMessage `json:"results"`
	}{APIVersion: APIVersion, Kind: KindReport, Verdict: r.Suite.Verdict(), Strict: r.Strict, Only: r.Only, Baseline: r.Baseline, Results: results, Checks: []checkLine{}, Phases: r.phaseLines()}
	if r.Program.Driver {
		doc.CSI = &r.Program
	} else {
		doc.CCM = &r.Program
	}
	for i := range r.Suite.Scenarios {
		s := &r.Suite.Scenarios[i]
		doc.Checks = append(doc.Checks, checkLine{
			name(s), s.Shown(), s.Judgment.Trend, s.Judgment.Baseline, s.Judgment.Known, s.Judgment.Issues, s.Judgment.Must,
			document.Seconds(s.Took.Seconds()), s.Message,
		})
	}
	return write(w, doc)
}

// phaseLines returns the phases of a document.
func (r *Report) phaseLines() []phaseLine {
	lines := []phaseLine{}
	for _, p := range r.Phases {
		line := phaseLine{Name: strings.TrimPrefix(p.Name, phasePrefix), Text: p.Text, Calls: p.Release, BaselineCalls: p.Baseline}
		if p.Release != nil {
			n := Total(p.Release)
			line.Total = &n
		}
		if p.Baseline != nil {
			n := Total(p.Baseline)
			line.BaselineTotal = &n
		}
		if p.Release != nil && Total(p.Baseline) > 0 {
			f := float64(Total(p.Release)) / float64(Total(p.Baseline))
			line.Ratio = &f
		}
		lines = append(lines, line)
	}
	return lines
}

func suiteDocument(s *result.Suite) (json.RawMessage, error) {
	var b bytes.Buffer
	err := document.Write(&b, s)
	return b.Bytes(), err
}

func write(w io.Writer, doc any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(doc)
}
