package parity

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/lab"
)

// calls are calls at vCenters, by method.
type calls map[string]int

func (c calls) total() int {
	sum := 0
	for _, n := range c {
		sum += n
	}
	return sum
}

// figures are what one provider took on one topology.
type figures struct {
	nodes int
	// initialize is from the start of the process until no node is uninitialized.
	initialize time.Duration
	initCalls  calls
	// steady is the time without changes, and steadyCalls the calls in that time.
	steady      time.Duration
	steadyCalls calls
	// shutdown is from power-off, and deleted from Destroy_Task, until the node shows it. The kubelet is known to be silent.
	shutdown, deleted time.Duration
	memory            float64 // MiB, after initialization

	before, after []lab.Snapshot // the nodes when initialized, and at the end
}

// never is a reaction that did not come.
const never time.Duration = -1

// perNodeHour is the rate of the steady state.
func (f *figures) perNodeHour() float64 {
	return float64(f.steadyCalls.total()) / float64(f.nodes) / f.steady.Hours()
}

// most names the methods called most.
func most(c calls) string {
	names := slices.SortedFunc(maps.Keys(c), func(a, b string) int { return cmp.Or(c[b]-c[a], cmp.Compare(a, b)) })
	var parts []string
	rest := 0
	for i, name := range names {
		if i < 6 {
			parts = append(parts, fmt.Sprintf("%d %s", c[name], name))
		} else {
			rest += c[name]
		}
	}
	if rest > 0 {
		parts = append(parts, fmt.Sprintf("%d others", rest))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}
