package gate

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Stat counts the calls of one method by one client since the gate was made.
type Stat struct {
	Method string `json:"method"`
	Client string `json:"client"`
	Calls  int64  `json:"calls"`
	// Errors are calls that ended with a SOAP fault, an error status or no answer at all.
	Errors int64 `json:"errors"`
	// Hits are calls that a rule or a mode happened to.
	Hits int64 `json:"hits"`
	// Latency is the sum over all calls, long polls included.
	Latency time.Duration `json:"latency"`
	// In and Out are the bytes of all bodies.
	In  int64 `json:"in"`
	Out int64 `json:"out"`
}

// Counters are a gate's totals since it was made, and what is under way now.
type Counters struct {
	Calls  int64 `json:"calls"`
	Errors int64 `json:"errors"`
	Hits   int64 `json:"hits"`
	In     int64 `json:"in"`
	Out    int64 `json:"out"`
	// InFlight are the calls that have not ended yet.
	InFlight int `json:"inFlight"`
	// Connections are those that are open, idle ones included.
	Connections int `json:"connections"`
}

// maxStats bounds how many (method, client) pairs are told apart, for clients that invent names.
const maxStats = 4096

// Other stands for the methods and clients that were too many to be told apart.
const Other = "(other)"

type statKey struct{ method, client string }

type stats struct {
	mu  sync.Mutex
	by  map[statKey]*Stat
	all Stat
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
	st.count(c)
	s.all.count(c)
}

func (st *Stat) count(c Call) {
	st.Calls++
	st.Latency += c.Duration
	st.In += c.In
	st.Out += c.Out
	if c.Failed() {
		st.Errors++
	}
	if c.Hit {
		st.Hits++
	}
}

// Stats returns the counts so far, sorted by method, then client. Calls still under way are not in it.
func (g *Gate) Stats() []Stat {
	g.stats.mu.Lock()
	defer g.stats.mu.Unlock()
	all := make([]Stat, 0, len(g.stats.by))
	for _, st := range g.stats.by {
		all = append(all, *st)
	}
	slices.SortFunc(all, func(a, b Stat) int {
		return cmp.Or(cmp.Compare(a.Method, b.Method), cmp.Compare(a.Client, b.Client))
	})
	return all
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
