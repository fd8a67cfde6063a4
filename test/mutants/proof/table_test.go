package proof

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report/document"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/mutants"
)

// table is what came of the mutants, for people.
type table struct {
	began time.Time
	rows  []string
}

func (t *table) add(m mutants.Mutant, c mutants.Caught, got document.Scenario, step document.Step, err error) {
	caught := fmt.Sprintf("%d: %s %s", step.Line, step.Action, short(step.Text))
	if err != nil {
		caught = "NOT CAUGHT: " + err.Error()
	}
	took := time.Duration(float64(got.Took) * float64(time.Second)).Round(100 * time.Millisecond)
	t.rows = append(t.rows, fmt.Sprintf("%s\t%s\t%s\t%s\t%s", m.Name, c.Scenario, got.Verdict, took, caught))
}

func (t *table) print(w io.Writer) {
	if len(t.rows) == 0 {
		return
	}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	defer func() {
		_ = out.Flush() // as the lines after it
		fmt.Fprintf(w, "%d results in %s, with what it took to build the mutants and to run the scenarios without them\n",
			len(t.rows), time.Since(t.began).Round(time.Second))
	}()
	fmt.Fprintln(out, "MUTANT\tSCENARIO\tVERDICT\tTOOK\tCAUGHT AT LINE")
	for _, row := range t.rows {
		fmt.Fprintln(out, row)
	}
}

// short is a text that fits beside others.
func short(text string) string {
	if r := []rune(text); len(r) > 110 {
		return string(r[:110]) + "…"
	}
	return text
}
