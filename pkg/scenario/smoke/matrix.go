package smoke

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// Matrix writes a comparison as Markdown: verdicts side by side, and below them how the timelines differ.
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

// rows are the scenarios, with what each column made of them and how long it took.
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

// sums says for each column why scenarios did not pass.
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
