package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
)

// table is what was measured, in the order in which it was first.
type table struct{ figures []*figure }

// figure is one line of it: what is measured in every run, against what it should be at most; 0 is no target.
type figure struct {
	name, unit string
	target     float64
	values     []float64
}

func (t *table) note(name, unit string, target, value float64) {
	i := slices.IndexFunc(t.figures, func(f *figure) bool { return f.name == name })
	if i < 0 {
		i = len(t.figures)
		t.figures = append(t.figures, &figure{name: name, unit: unit, target: target})
	}
	t.figures[i].values = append(t.figures[i].values, value)
}

func (t *table) print(w io.Writer, runs int) {
	fmt.Fprintf(w, "%s/%s, %d CPUs, %d runs, speed 10\n\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runs)
	fmt.Fprintln(w, "| figure | target | median | min | max |")
	fmt.Fprintln(w, "|---|---|---|---|---|")
	for _, f := range t.figures {
		target := f.unit
		if f.target != 0 {
			target = fmt.Sprintf("≤ %g %s", f.target, f.unit)
		}
		slices.Sort(f.values)
		fmt.Fprintf(w, "| %s | %s | %.2f | %.2f | %.2f |\n", f.name, target, f.values[len(f.values)/2], f.values[0], f.values[len(f.values)-1])
	}
}
