package calls

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
)

// grouping is how rows are summed up.
type grouping int

const (
	byCall grouping = iota // every client's calls of every method of every vCenter
	byClient
	byMethod
	byVCenter
	groupings
)

// String returns the text in the title; "" without grouping.
func (g grouping) String() string {
	return [...]string{"", "by client", "by method", "by vCenter"}[g]
}

// order is the sort order of rows.
type order int

const (
	byRate order = iota
	byCalls
	byErrors
	byLatency
	byName
	orders
)

func (o order) String() string {
	return [...]string{"rate", "calls", "errors", "latency", "name"}[o]
}

// row is a line of the screen: the calls of one kind, or a sum.
type row struct {
	key                     string // unique in its grouping
	vcenter, client, method string // "" where they differ
	vcenters, clients       int    // the number of each
	methods                 int
	calls, errors, hits     uint64
	polls                   uint64        // of the calls, those that are long polls
	total                   time.Duration // of all calls but long polls
	rate, failing           float64       // in the window
	answered                float64       // rate without long polls
	mean                    time.Duration // in the window, without long polls; of all calls if it has none
	recent                  bool          // mean is of the window
	last                    time.Time
	failed                  string // the error of the newest failure
	failedLast              time.Time
	history                 history
}

// key returns the key of the row that counts some calls.
func (g grouping) key(vcenter, client, method string) string {
	switch g {
	case byClient:
		return client
	case byMethod:
		return method
	case byVCenter:
		return vcenter
	default:
		return vcenter + "\x00" + client + "\x00" + method
	}
}

// sum makes the rows of a grouping from the matching calls, with their history up to now.
func sum(all []fold.Call, bursts []fold.Burst, by grouping, match func(*fold.Call) bool, now time.Time) []*row {
	rows := map[string]*row{}
	parts := map[string]*names{}
	for i := range all {
		c := &all[i]
		if !match(c) {
			continue
		}
		key := by.key(c.VCenter, c.Client, c.Method)
		if rows[key] == nil {
			rows[key], parts[key] = &row{key: key}, newNames()
		}
		rows[key].add(c)
		parts[key].add(c)
	}
	for key, r := range rows {
		parts[key].report(r)
		if r.recent {
			r.mean = time.Duration(float64(r.mean) / r.answered)
		} else if r.calls > r.polls {
			r.mean = r.total / time.Duration(r.calls-r.polls)
		}
	}
	remember(rows, bursts, by, now)
	list := make([]*row, 0, len(rows))
	for _, r := range rows {
		list = append(list, r)
	}
	return list
}

// add counts some calls. Until all are added, mean is weighted by the rate.
func (r *row) add(c *fold.Call) {
	r.calls += c.Calls.Calls
	r.errors += c.Errors
	r.hits += c.Hits
	r.rate += c.Rate
	switch {
	case fold.IsLongPoll(c.Method):
		r.polls += c.Calls.Calls
	default:
		r.total += time.Duration(c.Latency)
		if c.Rate > 0 {
			r.answered += c.Rate
			r.mean += time.Duration(float64(c.Mean) * c.Rate)
			r.recent = true
		}
	}
	r.failing += c.Failing
	if c.Last.After(r.last) {
		r.last = c.Last
	}
	if c.LastError != "" && !c.Last.Before(r.failedLast) {
		r.failed, r.failedLast = c.LastError, c.Last
	}
}

// names are the names of the calls in a row.
type names struct{ vcenters, clients, methods map[string]bool }

func newNames() *names { return &names{map[string]bool{}, map[string]bool{}, map[string]bool{}} }

func (n *names) add(c *fold.Call) {
	n.vcenters[c.VCenter], n.clients[c.Client], n.methods[c.Method] = true, true, true
}

// report sets what all the calls of a row have in common.
func (n *names) report(r *row) {
	one := func(all map[string]bool, s *string) int {
		if len(all) == 1 {
			for name := range all {
				*s = name
			}
		}
		return len(all)
	}
	r.vcenters, r.clients, r.methods = one(n.vcenters, &r.vcenter), one(n.clients, &r.client), one(n.methods, &r.method)
}

// sorted sorts rows; equal ones by name.
func (o order) sorted(rows []*row) []*row {
	slices.SortFunc(rows, func(a, b *row) int {
		c := 0
		switch o {
		case byRate:
			c = cmp.Compare(b.rate, a.rate)
		case byCalls:
			c = cmp.Compare(b.calls, a.calls)
		case byErrors:
			c = cmp.Or(cmp.Compare(b.failing, a.failing), cmp.Compare(b.errors, a.errors))
		case byLatency:
			c = cmp.Compare(b.mean, a.mean)
		default: // by name alone
		}
		return cmp.Or(c, cmp.Compare(a.vcenter, b.vcenter), cmp.Compare(a.client, b.client), cmp.Compare(a.method, b.method))
	})
	return rows
}

// matcher returns a func that reports whether a call has all words of a filter in its vCenter, client, method or last error, in
// any case.
func matcher(filter string) func(*fold.Call) bool {
	words := strings.Fields(strings.ToLower(filter))
	return func(c *fold.Call) bool {
		if len(words) == 0 {
			return true
		}
		all := strings.ToLower(strings.Join([]string{c.VCenter, c.Client, c.Method, c.LastError}, "\n"))
		for _, w := range words {
			if !strings.Contains(all, w) {
				return false
			}
		}
		return true
	}
}

// several returns the only name, or how many there are: "3 methods".
func several(name string, n int, what string) string {
	if n == 1 {
		return name
	}
	return text.Count(uint64(n)) + " " + what + "s"
}

const (
	// slots is the number of points in a history; each covers the same time.
	slots = 12
	slot  = 5 * time.Second
)

// history is the number of calls in the last minute, oldest first. The newest slot is incomplete.
type history [slots]uint64

// remember fills in the histories of rows from the bursts.
func remember(rows map[string]*row, bursts []fold.Burst, by grouping, now time.Time) {
	newest := now.Truncate(slot)
	oldest := newest.Add(-(slots - 1) * slot)
	for i := len(bursts) - 1; i >= 0 && !bursts[i].At.Before(oldest); i-- {
		b := &bursts[i]
		if r := rows[by.key(b.VCenter, b.Client, b.Method)]; r != nil && !b.At.After(now) {
			r.history[slots-1-int(newest.Sub(b.At.Truncate(slot))/slot)] += b.Calls
		}
	}
}

// spark draws the history, each cell as high as its part of the maximum.
func (h history) spark() string {
	var top uint64
	for _, n := range h {
		top = max(top, n)
	}
	levels := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	for _, n := range h {
		if n == 0 {
			b.WriteByte(' ')
			continue
		}
		b.WriteRune(levels[(n*uint64(len(levels))-1)/top])
	}
	return b.String()
}
