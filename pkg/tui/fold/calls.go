package fold

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Call is the calls of one client to one method of one vCenter.
type Call struct {
	api.Calls
	// Rate is calls per second, Failing errors per second, over the last [Window]; Mean is the latency of these.
	Rate, Failing float64
	Mean          time.Duration
}

// IsLongPoll reports whether a method is a long poll: its answer comes when something changes, so its latency says nothing about the
// vCenter.
func IsLongPoll(method string) bool {
	switch method[strings.LastIndexByte(method, '.')+1:] {
	case "WaitForUpdatesEx", "WaitForUpdates":
		return true
	}
	return false
}

// Window is the period of rates.
const Window = 10 * time.Second

// Calls returns the calls by vCenter, client and method, sorted. Do not change the slice.
func (s *State) Calls() []Call {
	c := s.calls
	if c.list != nil {
		return c.list
	}
	c.list = make([]Call, 0, len(c.rows))
	for _, row := range c.rows {
		c.list = append(c.list, row.call())
	}
	slices.SortFunc(c.list, compareCalls)
	return c.list
}

// Clients returns [State.Calls] summed up by client, sorted; vCenter and method are empty.
func (s *State) Clients() []Call {
	return s.calls.sums(func(c api.Calls) api.Calls { return api.Calls{Client: c.Client} })
}

// VCenters returns [State.Calls] summed up by vCenter and client, sorted.
func (s *State) VCenters() []Call {
	return s.calls.sums(func(c api.Calls) api.Calls { return api.Calls{VCenter: c.VCenter, Client: c.Client} })
}

func compareCalls(a, b Call) int {
	return cmp.Or(cmp.Compare(a.VCenter, b.VCenter), cmp.Compare(a.Client, b.Client), cmp.Compare(a.Method, b.Method))
}

// calls are the latest counts, and what was added to them within the window.
type calls struct {
	rows   map[callKey]*callRow
	list   []Call // nil if it must be rebuilt
	queue  []callKey
	at     []time.Time // when the counts in the queue arrived
	bursts []Burst
	count  uint64 // bursts in all
}

type callKey struct{ vcenter, client, method string }

// callRow is a row with the calls within the window, and their sum.
type callRow struct {
	api.Calls
	samples []sample
	sum     sample
}

// sample is an increase at a time.
type sample struct {
	at            time.Time
	calls, errors uint64
	latency       time.Duration
}

func newCalls() *calls { return &calls{rows: map[callKey]*callRow{}} }

// apply adds a row. Before the first sync (live is not set) its calls happened at an unknown time.
func (c *calls) apply(at time.Time, row api.Calls, deleted, live bool) {
	c.list = nil
	key := callKey{row.VCenter, row.Client, row.Method}
	if deleted {
		delete(c.rows, key)
		return
	}
	r := c.rows[key]
	if r == nil {
		r = &callRow{}
		c.rows[key] = r
	}
	was := r.Calls
	if row.Calls < was.Calls || row.Latency < was.Latency { // the vCenter was restarted
		was = api.Calls{}
	}
	r.Calls = row
	d := sample{at, row.Calls - was.Calls, row.Errors - min(was.Errors, row.Errors), time.Duration(row.Latency - was.Latency)}
	if !live || d.calls == 0 {
		return
	}
	r.add(d)
	c.queue, c.at = append(c.queue, key), append(c.at, at)
	c.burst(row, d)
}

func (r *callRow) add(d sample) {
	r.samples = append(r.samples, d)
	r.sum = sample{calls: r.sum.calls + d.calls, errors: r.sum.errors + d.errors, latency: r.sum.latency + d.latency}
}

// expire drops what has left the window, and reports whether there was something.
func (c *calls) expire(now time.Time) bool {
	gone := false
	for len(c.at) > 0 && now.Sub(c.at[0]) >= Window {
		r := c.rows[c.queue[0]]
		c.queue, c.at = c.queue[1:], c.at[1:]
		if r == nil || len(r.samples) == 0 || now.Sub(r.samples[0].at) < Window {
			continue
		}
		d := r.samples[0]
		r.samples = r.samples[1:]
		r.sum = sample{calls: r.sum.calls - d.calls, errors: r.sum.errors - d.errors, latency: r.sum.latency - d.latency}
		gone = true
	}
	if gone {
		c.list = nil
	}
	if len(c.at) == 0 {
		c.queue, c.at = nil, nil
	}
	return gone
}

// next returns when the next sample leaves the window; zero for never.
func (c *calls) next() time.Time {
	if len(c.at) == 0 {
		return time.Time{}
	}
	return c.at[0].Add(Window)
}

func (r *callRow) call() Call { return r.sum.rates(r.Calls) }

func (d sample) rates(row api.Calls) Call {
	c := Call{Calls: row, Rate: float64(d.calls) / Window.Seconds(), Failing: float64(d.errors) / Window.Seconds()}
	if d.calls > 0 {
		c.Mean = d.latency / time.Duration(d.calls)
	}
	return c
}

// sums sums up rows with the same result of of.
func (c *calls) sums(of func(api.Calls) api.Calls) []Call {
	type total struct {
		row api.Calls
		sum sample
	}
	by := map[callKey]*total{}
	for _, r := range c.rows {
		head := of(r.Calls)
		key := callKey{head.VCenter, head.Client, head.Method}
		t := by[key]
		if t == nil {
			t = &total{row: head}
			by[key] = t
		}
		t.row.Calls += r.Calls.Calls
		t.row.Errors += r.Errors
		t.row.Hits += r.Hits
		t.row.Latency += r.Latency
		if r.Last.After(t.row.Last) {
			t.row.Last = r.Last
		}
		t.sum = sample{calls: t.sum.calls + r.sum.calls, errors: t.sum.errors + r.sum.errors, latency: t.sum.latency + r.sum.latency}
	}
	list := make([]Call, 0, len(by))
	for _, t := range by {
		list = append(list, t.sum.rates(t.row))
	}
	slices.SortFunc(list, compareCalls)
	return list
}

// Burst is calls that arrived together: an entry of the timeline.
type Burst struct {
	// Seq counts bursts, from 1.
	Seq                     uint64
	At                      time.Time
	VCenter, Client, Method string
	Calls, Errors           uint64
	Mean                    time.Duration
	// Error is the answer to the newest failed call, if any.
	Error string
}

// KeepBursts is the number of bursts that a state keeps.
const KeepBursts = 4096

// Bursts returns the newest calls, oldest first, [KeepBursts] at most. Do not change the slice.
func (s *State) Bursts() []Burst { return s.calls.bursts }

func (c *calls) burst(row api.Calls, d sample) {
	c.count++
	b := Burst{
		Seq: c.count, At: d.at, VCenter: row.VCenter, Client: row.Client, Method: row.Method,
		Calls: d.calls, Errors: d.errors, Mean: d.latency / time.Duration(d.calls),
	}
	if d.errors > 0 {
		b.Error = row.LastError
	}
	c.bursts = append(c.bursts, b)
	if n := len(c.bursts) - KeepBursts; n > 0 {
		c.bursts = c.bursts[n:] // the rest is freed when the slice grows
	}
}
