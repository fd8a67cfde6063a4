package lab

import (
	"cmp"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// Mark is a moment from which calls to vCenters are counted.
type Mark struct {
	l     *Lab
	stats map[callKey]gate.Stat
}

type callKey struct{ vcenter, method, client string }

// Call is how often a method of a vCenter was called by a client.
type Call struct {
	VCenter, Method string
	// Client is the User-Agent.
	Client string
	Calls  int64
	// Errors are the calls that ended with a fault, an error status or no answer.
	Errors int64
}

// Mark begins to count.
func (l *Lab) Mark() Mark { return Mark{l: l, stats: l.stats()} }

// By selects the calls of clients with this text in their User-Agent, case-insensitive; for [Mark.Calls].
func By(client string) func(Call) bool {
	return func(c Call) bool { return strings.Contains(strings.ToLower(c.Client), strings.ToLower(client)) }
}

// Calls are those that have ended since the mark and that pick takes; all with nil. They are sorted by vCenter, method
// and client. The lab's own calls are in none.
func (m Mark) Calls(pick func(Call) bool) []Call {
	var all []Call
	for k, s := range m.l.stats() {
		before := m.stats[k]
		c := Call{VCenter: k.vcenter, Method: k.method, Client: k.client, Calls: s.Calls - before.Calls, Errors: s.Errors - before.Errors}
		if c.Calls > 0 && (pick == nil || pick(c)) {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b Call) int {
		return cmp.Or(cmp.Compare(a.VCenter, b.VCenter), cmp.Compare(a.Method, b.Method), cmp.Compare(a.Client, b.Client))
	})
	return all
}

// Total is the number of calls.
func Total(calls []Call) (n int64) {
	for _, c := range calls {
		n += c.Calls
	}
	return n
}

func (l *Lab) stats() map[callKey]gate.Stat {
	all := map[callKey]gate.Stat{}
	for _, v := range l.VCenters() {
		for _, s := range v.Gate().Stats() {
			all[callKey{v.Name(), s.Method, s.Client}] = s
		}
	}
	return all
}
