package parity

import (
	"fmt"
	"io"
	"strings"
)

// result is one scenario with the figures of all sides; the first is ours.
type result struct {
	scenario scenario
	sides    []side
	figures  []*figures
}

// print writes a table in Markdown, other sides with their multiple of what ours takes.
func (r *result) print(w io.Writer) {
	fmt.Fprintf(w, "\n### %s: %d nodes, %s per call\n\n| |", r.scenario.name, r.figures[0].nodes, r.scenario.latency)
	for _, s := range r.sides {
		fmt.Fprintf(w, " %s |", s.name)
	}
	fmt.Fprintf(w, "\n|---%s|\n", strings.Repeat("|---", len(r.sides)))
	r.row(w, "start → all nodes initialized, s", "%.2f", func(f *figures) float64 { return f.initialize.Seconds() })
	r.row(w, "vCenter calls during that", "%.0f", func(f *figures) float64 { return float64(f.initCalls.total()) })
	if r.scenario.steady > 0 {
		r.row(w, "vCenter calls per node-hour after", "%.2f", (*figures).perNodeHour)
	}
	if r.scenario.breakVMs {
		r.row(w, "node not ready, VM off → shutdown taint, s", "%.2f", func(f *figures) float64 { return f.shutdown.Seconds() })
		r.row(w, "node not ready, VM gone → node deleted, s", "%.2f", func(f *figures) float64 { return f.deleted.Seconds() })
	}
	r.row(w, "memory of the process (anonymous), MiB", "%.1f", func(f *figures) float64 { return f.memory })
	fmt.Fprintln(w)
	for i, s := range r.sides {
		fmt.Fprintf(w, "- %s: to initialize %s", s.name, most(r.figures[i].initCalls))
		if r.scenario.steady > 0 {
			fmt.Fprintf(w, "; in %s after %s", r.scenario.steady, most(r.figures[i].steadyCalls))
		}
		fmt.Fprintln(w)
	}
}

func (r *result) row(w io.Writer, name, format string, value func(*figures) float64) {
	ours := value(r.figures[0])
	fmt.Fprintf(w, "| %s |", name)
	for i, f := range r.figures {
		v := value(f)
		switch {
		case v == never.Seconds():
			fmt.Fprint(w, " never |")
			continue
		case i > 0 && ours > 0:
			fmt.Fprintf(w, " "+format+" (%.1f×) |", v, v/ours)
		default:
			fmt.Fprintf(w, " "+format+" |", v)
		}
	}
	fmt.Fprintln(w)
}
