package safety

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

// table prints the matrix.
func table(lines []line) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "the fault, at vCenter %s\tCCM", broken)
	for _, c := range cells() {
		fmt.Fprintf(w, "\t%s: %s", c.vcenter, c.state)
	}
	fmt.Fprintln(w, "\ttook")
	for _, l := range lines {
		fmt.Fprintf(w, "%s\t%s", l.fault.name, l.mode)
		for _, c := range cells() {
			fmt.Fprintf(w, "\t%s", l.verdicts[c])
		}
		fmt.Fprintf(w, "\t%s\n", l.took.Round(100*time.Millisecond))
	}
	_ = w.Flush() // to memory
	return b.String()
}
