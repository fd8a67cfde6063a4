package live

import (
	"fmt"
	"io"
	"strconv"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// Summary writes a table of the scenarios and a line with the totals.
func Summary(w io.Writer, s *result.Suite) error {
	rows := [][]string{{"VERDICT", "SCENARIO", "THEME", "STEPS", "TOOK", "WHY"}}
	for i := range s.Scenarios {
		sc := &s.Scenarios[i]
		passed := 0
		for _, st := range sc.Steps {
			if st.Verdict == result.Passed {
				passed++
			}
		}
		why := ""
		if sc.Verdict != result.Passed {
			why = sc.Message
		}
		rows = append(rows, []string{
			report.Glyph(sc.Verdict) + " " + string(sc.Verdict), sc.Name, sc.Theme, fmt.Sprintf("%d/%d", passed, len(sc.Steps)), report.Took(sc.Took), why,
		})
	}
	text := ""
	if len(s.Scenarios) > 0 {
		text = report.Table(rows) + "\n"
	}
	text += fmt.Sprintf("%s in %s; seed %d, speed %s", report.Sum(s), report.Took(s.Took), s.Seed, strconv.FormatFloat(s.Speed, 'f', -1, 64))
	if s.CCM != "" {
		text += ", ccm " + s.CCM
		if s.CCMVersion != "" && s.CCM != s.CCMVersion {
			text += " (" + s.CCMVersion + ")"
		}
	}
	_, err := io.WriteString(w, text+"\n")
	return err
}
