package junit

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// The elements, with the names and attributes that all readers of the schema accept.
type (
	suites struct {
		XMLName  xml.Name `xml:"testsuites"`
		Name     string   `xml:"name,attr"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Errors   int      `xml:"errors,attr"`
		Skipped  int      `xml:"skipped,attr"`
		Time     string   `xml:"time,attr"`
		Suites   []suite  `xml:"testsuite"`
	}
	suite struct {
		Name       string     `xml:"name,attr"`
		Tests      int        `xml:"tests,attr"`
		Failures   int        `xml:"failures,attr"`
		Errors     int        `xml:"errors,attr"`
		Skipped    int        `xml:"skipped,attr"`
		Time       string     `xml:"time,attr"`
		Timestamp  string     `xml:"timestamp,attr,omitempty"`
		Properties []property `xml:"properties>property"`
		Cases      []testCase `xml:"testcase"`

		took time.Duration
	}
	property struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	testCase struct {
		Name  string `xml:"name,attr"`
		Class string `xml:"classname,attr"`
		File  string `xml:"file,attr,omitempty"`
		Time  string `xml:"time,attr"`
		// Judgment is what a failure or a skip alone does not say.
		Judgment *judgment `xml:"properties"`
		Failure  *trouble  `xml:"failure"`
		Error    *trouble  `xml:"error"`
		Skipped  *trouble  `xml:"skipped"`
		Out      string    `xml:"system-out,omitempty"`
	}
	judgment struct {
		Properties []property `xml:"property"`
	}
	trouble struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// Write writes the document.
func Write(w io.Writer, s *result.Suite) error {
	b, err := xml.MarshalIndent(of(s), "", "  ")
	if err != nil {
		return err
	}
	b = bytes.ReplaceAll(b, []byte("&#xA;"), []byte("\n")) // people read it, too; no attribute has lines
	b = bytes.ReplaceAll(b, []byte("&#x9;"), []byte("\t"))
	_, err = io.WriteString(w, xml.Header+string(b)+"\n")
	return err
}

func of(s *result.Suite) suites {
	all := suites{
		Name: s.Name, Tests: len(s.Scenarios), Time: seconds(s.Took),
	}
	at := map[string]int{}
	for i := range s.Scenarios {
		sc := &s.Scenarios[i]
		name := s.Name
		if sc.Theme != "" {
			name += "." + sc.Theme
		}
		n, ok := at[name]
		if !ok {
			n = len(all.Suites)
			at[name] = n
			all.Suites = append(all.Suites, suite{Name: name, Properties: properties(s), Timestamp: stamp(sc.Began)})
		}
		all.Suites[n].add(sc)
	}
	for _, su := range all.Suites {
		all.Failures, all.Errors, all.Skipped = all.Failures+su.Failures, all.Errors+su.Errors, all.Skipped+su.Skipped
	}
	return all
}

func (su *suite) add(s *result.Scenario) {
	su.Tests++
	su.took += s.Took
	su.Time = seconds(su.took)
	c := testCase{Name: s.Name, Class: su.Name, File: s.File, Time: seconds(s.Took), Judgment: judge(s), Out: stepLines(s)}
	bad := &trouble{Message: report.Line(s.Message), Text: why(s)}
	excuse := report.Excuse(s)
	switch {
	case s.Verdict == result.Passed:
	case excuse != "": // it ran, and its steps stay
		su.Skipped++
		c.Skipped = &trouble{Message: report.Line(excuse) + "; found: " + bad.Message}
	case s.Verdict == result.Failed:
		su.Failures++
		bad.Type, c.Failure = "expectation", bad
		if s.Judgment.Trend != "" {
			bad.Type = string(s.Judgment.Trend)
			bad.Message = bad.Type + ": " + bad.Message
		}
	case s.Verdict == result.Skipped, s.Verdict == result.Interrupted:
		su.Skipped++
		c.Skipped, c.Out = &trouble{Message: bad.Message}, ""
	default: // also one that never came to an end
		su.Errors++
		bad.Type, c.Error = "error", bad
	}
	su.Cases = append(su.Cases, c)
}

// judge returns the words of a judged result, the same as in every table; nil for one that was not judged.
func judge(s *result.Scenario) *judgment {
	j := s.Judgment
	all := []property{
		{"verdict", string(s.Shown())},
		{"trend", string(j.Trend)},
		{"baseline", string(j.Baseline)},
		{"known", j.Known},
		{"issues", strings.Join(j.Issues, ", ")},
		{"note", j.Note},
	}
	all = slices.DeleteFunc(all, func(p property) bool { return p.Value == "" })
	if len(all) == 1 {
		return nil
	}
	return &judgment{all}
}

// properties are the inputs that a result depends on.
func properties(s *result.Suite) []property {
	all := []property{
		{"seed", strconv.FormatUint(s.Seed, 10)},
		{"speed", strconv.FormatFloat(s.Speed, 'f', -1, 64)},
		{"ccm", s.CCM},
		{"ccm-version", s.CCMVersion},
		{"baseline", s.Baseline},
		{"kubernetes-version", s.KubernetesVersion},
		{"version", s.Version},
	}
	kept := all[:0]
	for _, p := range all {
		if p.Value != "" {
			kept = append(kept, p)
		}
	}
	return kept
}

// stepLines returns the steps, a line each.
func stepLines(s *result.Scenario) string {
	var b strings.Builder
	for _, st := range s.Steps {
		fmt.Fprintf(&b, "\n%s %s", report.Glyph(st.Verdict), report.StepLine(st))
	}
	return strings.TrimPrefix(b.String(), "\n")
}

// why describes the failure, and the world at that time.
func why(s *result.Scenario) string {
	var b strings.Builder
	for _, st := range s.Steps {
		if st.Verdict == result.Failed || st.Verdict == result.Errored {
			fmt.Fprintf(&b, "%s:%d: %s %s\n%s\n", s.File, st.Line, st.Action, report.Line(st.Text), report.Line(st.Message))
			if st.Detail != "" {
				fmt.Fprintf(&b, "%s\n", report.Lines(st.Detail))
			}
		}
	}
	if len(s.World.Nodes) > 0 {
		fmt.Fprintf(&b, "\nnodes:\n%s", report.Nodes(s.World.Nodes))
	}
	return b.String()
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05")
}
