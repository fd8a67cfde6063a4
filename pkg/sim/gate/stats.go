package gate

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"
)

// Stat counts the calls of one method by one client since the start of the gate.
type Stat struct {
	Method string `json:"method"`
	Client string `json:"client"`
	Calls  int64  `json:"calls"`
	// Errors are calls that ended with a SOAP fault, an error status or no answer.
	Errors int64 `json:"errors"`
	// Hits are calls that a rule or a mode hit.
	Hits int64 `json:"hits"`
	// Latency is the sum over all calls, including long polls.
	Latency time.Duration `json:"latency"`
	// In and Out are the bytes of all bodies.
	In  int64 `json:"in"`
	Out int64 `json:"out"`
	// Last is the end of the newest call, LastError the answer to the newest failed one: the type of its fault or error, "HTTP
	// 503" without a type, "no answer" if it was cut.
	Last      time.Time `json:"last,omitzero"`
	LastError string    `json:"lastError,omitempty"`

	at int64 // the number of the newest call
}

// Counters are the totals of a gate since its start, and its current load.
type Counters struct {
	Calls  int64 `json:"calls"`
	Errors int64 `json:"errors"`
	Hits   int64 `json:"hits"`
	In     int64 `json:"in"`
	Out    int64 `json:"out"`
	// InFlight is the number of calls in progress.
	InFlight int `json:"inFlight"`
	// Connections is the number of open connections, including idle ones.
	Connections int `json:"connections"`
}

// maxStats limits the number of (method, client) pairs, for clients that invent names.
const maxStats = 4096

// Other collects the methods and clients beyond that limit.
const Other = "(other)"

type statKey struct{ method, client string }

type stats struct {
	mu    sync.Mutex
	by    map[statKey]*Stat
	all   Stat
	grown chan struct{} // closed at the next call; nil while no caller waits
}

func newStats() stats { return stats{by: make(map[statKey]*Stat)} }

func (s *stats) add(c Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := statKey{c.Method, c.Client}
	st := s.by[key]
	if st == nil {
		if len(s.by) >= maxStats {
			key = statKey{Other, Other}
		}
		if st = s.by[key]; st == nil {
			st = &Stat{Method: key.method, Client: key.client}
			s.by[key] = st
		}
	}
	s.all.count(c)
	st.count(c)
	st.at = s.all.Calls
	if s.grown != nil {
		close(s.grown)
		s.grown = nil
	}
}

func (st *Stat) count(c Call) {
	st.Calls++
	st.Latency += c.Duration
	st.In += c.In
	st.Out += c.Out
	if c.Failed() {
		st.Errors++
		st.LastError = c.Failure()
	}
	if c.Hit {
		st.Hits++
	}
	if end := c.Start.Add(c.Duration); end.After(st.Last) {
		st.Last = end
	}
}

// Stats returns the counts so far, sorted by method, then client, without calls in progress.
func (g *Gate) Stats() []Stat {
	g.stats.mu.Lock()
	defer g.stats.mu.Unlock()
	return g.stats.since(0)
}

// WaitStats waits until more than after calls have ended since the start of the gate. It returns the counts of their methods and
// clients, sorted like [Gate.Stats], and the total number of calls, to pass as after next time. It returns ctx's error when ctx
// ends.
func (g *Gate) WaitStats(ctx context.Context, after int64) ([]Stat, int64, error) {
	s := &g.stats
	for {
		s.mu.Lock()
		if n := s.all.Calls; n > after {
			changed := s.since(after)
			s.mu.Unlock()
			return changed, n, nil
		}
		if s.grown == nil {
			s.grown = make(chan struct{})
		}
		grown := s.grown
		s.mu.Unlock()
		select {
		case <-grown:
		case <-ctx.Done():
			return nil, after, ctx.Err()
		}
	}
}

// since returns the counts that changed after that number of calls. The caller holds the lock.
func (s *stats) since(after int64) []Stat {
	list := make([]Stat, 0, len(s.by))
	for _, st := range s.by {
		if st.at > after {
			list = append(list, *st)
		}
	}
	slices.SortFunc(list, func(a, b Stat) int {
		return cmp.Or(cmp.Compare(a.Method, b.Method), cmp.Compare(a.Client, b.Client))
	})
	return list
}

// Counters returns the totals.
func (g *Gate) Counters() Counters {
	g.mu.Lock()
	inflight := g.inflight
	g.mu.Unlock()
	g.stats.mu.Lock()
	all := g.stats.all
	g.stats.mu.Unlock()
	return Counters{
		Calls: all.Calls, Errors: all.Errors, Hits: all.Hits, In: all.In, Out: all.Out,
		InFlight: inflight, Connections: g.connections.count(),
	}
}

// ring holds the last calls.
type ring struct {
	mu    sync.Mutex
	calls []Call
	total int
}

func newRing(size int) ring { return ring{calls: make([]Call, 0, max(0, size))} }

func (r *ring) add(c Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case cap(r.calls) == 0:
	case len(r.calls) < cap(r.calls):
		r.calls = append(r.calls, c)
	default:
		r.calls[r.total%len(r.calls)] = c
	}
	r.total++
}

// Recent returns the last calls, in the order of their ends, without calls in progress.
func (g *Gate) Recent() []Call {
	r := &g.recent
	r.mu.Lock()
	oldest := 0
	if len(r.calls) > 0 && len(r.calls) == cap(r.calls) {
		oldest = r.total % len(r.calls)
	}
	list := append(append([]Call(nil), r.calls[oldest:]...), r.calls[:oldest]...)
	r.mu.Unlock()
	if g.opts.Name != nil {
		for i, c := range list {
			if c.Object != (types.ManagedObjectReference{}) {
				list[i].Name = g.opts.Name(c.Object)
			}
		}
	}
	return list
}
