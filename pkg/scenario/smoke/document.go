package smoke

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report/document"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// APIVersion and the kinds begin documents.
const (
	APIVersion     = document.APIVersion
	KindReport     = "SmokeReport"
	KindComparison = "Comparison"
)

// checkLine is a check in a document.
type checkLine struct {
	Name    string           `json:"name"`
	Verdict result.Verdict   `json:"verdict"`
	Known   string           `json:"known,omitempty"`
	Took    document.Seconds `json:"took"`
	Message string           `json:"message,omitempty"`
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

// JSON writes a report as one document; results has everything about each check, as "scenario run -o json" has it.
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
		CCM        CCM             `json:"ccm"`
		Baseline   *CCM            `json:"baseline,omitempty"`
		Checks     []checkLine     `json:"checks"`
		Phases     []phaseLine     `json:"phases"`
		Results    json.RawMessage `json:"results"`
	}{APIVersion: APIVersion, Kind: KindReport, Verdict: r.Verdict(), Strict: r.Strict, Only: r.Only, CCM: r.CCM, Baseline: r.Baseline, Results: results, Checks: []checkLine{}, Phases: r.phaseLines()}
	for i := range r.Suite.Scenarios {
		s := &r.Suite.Scenarios[i]
		doc.Checks = append(doc.Checks, checkLine{name(s), s.Verdict, r.known(s), document.Seconds(s.Took.Seconds()), s.Message})
	}
	return write(w, doc)
}

// phaseLines are the phases as they stand in documents.
func (r *Report) phaseLines() []phaseLine {
	lines := []phaseLine{}
	for _, p := range r.Phases {
		line := phaseLine{Name: strings.TrimPrefix(p.Name, "calls-"), Text: p.Text, Calls: p.CCM, BaselineCalls: p.Baseline}
		if p.CCM != nil {
			n := Total(p.CCM)
			line.Total = &n
		}
		if p.Baseline != nil {
			n := Total(p.Baseline)
			line.BaselineTotal = &n
		}
		if p.CCM != nil && Total(p.Baseline) > 0 {
			f := float64(Total(p.CCM)) / float64(Total(p.Baseline))
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
