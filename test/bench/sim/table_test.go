package sim

import (
	"fmt"
	"io"
	"math"
	"os/exec"
	"slices"
	"strings"
)

// figure is one measurement. Value is in seconds, or bytes, or what the row's unit is of.
type figure struct {
	Name  string
	Value float64
}

type figures []figure

// row is what a figure should be at most, in its unit.
type row struct {
	name   string // of the figure
	words  string
	target float64 // 0: none
	unit   string
	scale  float64 // of the figure to the unit
}

const (
	seconds = 1
	millis  = 1e3
	micros  = 1e6
	kilo    = 1e-3
)

// table collects the figures of all runs.
type table struct {
	settings settings
	values   map[string]map[string][]float64 // by side and figure
}

func newTable(s settings) *table {
	return &table{settings: s, values: map[string]map[string][]float64{"ours": {}, "stock": {}}}
}

func (t *table) add(side string, f figures) {
	for _, f := range f {
		t.values[side][f.Name] = append(t.values[side][f.Name], f.Value)
	}
}

// rows are the figures at the two sizes, with the targets that the project has set itself.
func (t *table) rows() []row {
	small, large := t.settings.small, t.settings.large
	at := func(name string, vms int) string { return fmt.Sprintf("%s %d", name, vms) }
	n := func(vms int) string { return thousands(vms) + " VMs" }
	return []row{
		{at(build, small), "build " + n(small) + " and serve them", 2, "s", seconds},
		{at(build, large), "build " + n(large) + " and serve them", 15, "s", seconds},
		{at(heap, small), "heap per VM, " + n(small), 45, "kB", kilo},
		{at(heap, large), "heap per VM, " + n(large), 45, "kB", kilo},
		{at(rss, large), "resident memory per VM, " + n(large), 0, "kB", kilo},
		{at(sync, small), "first synchronization of a watch of " + n(small), 0, "s", seconds},
		{at(sync, large), "first synchronization of a watch of " + n(large), 1, "s", seconds},
		{at(change, small), "a VM reconfigured → seen by five watchers of " + n(small), 0, "ms", millis},
		{at(change, large), "a VM reconfigured → seen by five watchers of " + n(large), 50, "ms", millis},
		{at(burst, small), "50 VMs reconfigured → all seen by five watchers of " + n(small), 100, "ms", millis},
		{at(burst, large), "50 VMs reconfigured → all seen by five watchers of " + n(large), 0, "ms", millis},
		{at(search, small), "FindByUuid among " + n(small) + ", one client, p50", 0, "ms", millis},
		{at(search, large), "FindByUuid among " + n(large) + ", one client, p50", 0.3, "ms", millis},
		{at(crowd50, large), "FindByUuid among " + n(large) + ", 16 clients, p50", 5, "ms", millis},
		{at(crowd99, small), "FindByUuid among " + n(small) + ", 16 clients, p99", 0, "ms", millis},
		{at(crowd99, large), "FindByUuid among " + n(large) + ", 16 clients, p99", 5, "ms", millis},
		{gateCall, "what a gate without rules adds to a call", 30, "µs", micros},
	}
}

func (t *table) print(w io.Writer) {
	fmt.Fprintln(w, "| figure | target | median | min | max | stock vcsim |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|")
	for _, r := range t.rows() {
		ours := t.values["ours"][r.name]
		if len(ours) == 0 {
			continue
		}
		slices.Sort(ours)
		target := "–"
		if r.target != 0 {
			target = fmt.Sprintf("≤ %g %s", r.target, r.unit)
		}
		fmt.Fprintf(w, "| %s | %s | %s %s | %s | %s | %s |\n", r.words, target,
			number(ours[len(ours)/2]*r.scale), r.unit, number(ours[0]*r.scale), number(ours[len(ours)-1]*r.scale), t.stock(r))
	}
}

func (t *table) stock(r row) string {
	values := t.values["stock"][r.name]
	switch {
	case len(values) == 0:
		return "–"
	case math.IsInf(values[0], 1) || values[0] < 0:
		return "> " + number(patience.Seconds()*r.scale) + " " + r.unit
	}
	return number(values[0]*r.scale) + " " + r.unit
}

// number prints three digits or so.
func number(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// govmomiVersion is that of the module: a test binary does not know its own.
func govmomiVersion() string {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", "github.com/vmware/govmomi").Output()
	if err != nil {
		return "of an unknown version"
	}
	return strings.TrimSpace(string(out))
}
