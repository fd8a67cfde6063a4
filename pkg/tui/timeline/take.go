package timeline

import (
	"cmp"
	"slices"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
)

// take adds what is new to the rows.
func (s *Screen) take() {
	w := s.state.World()
	events, bursts := w.After(s.causes.last), s.newBursts()
	last := s.causes.last
	if len(events) > 0 {
		for _, e := range events {
			s.causes.note(e)
		}
		s.causes.forget(w.Events()[0].Seq)
	}
	before := len(s.shown.rows)
	s.merge(events, last, bursts)
	s.fresh += len(s.shown.rows) - before
	s.forget()
	s.place()
	if s.chain != nil {
		s.chain.grow(&s.causes, events)
	}
}

// rechain keeps the chain that is shown, of another state, if there is something of it there.
func (s *Screen) rechain() {
	if s.chain == nil {
		return
	}
	if _, ok := s.state.World().Event(s.chain.root); !ok {
		s.chain = nil
		return
	}
	was, _ := s.chain.selected()
	s.chain = newChain(s.state.World(), &s.causes, s.chain.root)
	s.chain.choose(was.seq)
	s.place()
}

// newBursts are those that came since the newest that was taken in.
func (s *Screen) newBursts() []fold.Burst {
	all := s.state.Bursts()
	if s.calls == noCalls || len(all) == 0 {
		return nil
	}
	i, _ := slices.BinarySearchFunc(all, s.burst+1, func(b fold.Burst, seq uint64) int { return cmp.Compare(b.Seq, seq) })
	s.burst = all[len(all)-1].Seq
	return all[i:]
}

// again makes all rows anew, and keeps the cursor where it was, or near.
func (s *Screen) again() {
	if s.state == nil {
		return
	}
	was, had := s.shown.selected()
	s.shown = list{window: window{height: s.shown.height}}
	s.fresh, s.burst = 0, 0
	s.merge(s.state.World().Events(), 0, s.newBursts())
	if s.paused && had {
		s.shown.set(s.shown.find(was.seq), len(s.shown.rows))
	}
	s.place()
}

// merge adds events, which follow the one with the Seq last, and bursts to the rows, in the order of time.
func (s *Screen) merge(events []event.Event, last uint64, bursts []fold.Burst) {
	for len(events) > 0 || len(bursts) > 0 {
		if len(events) == 0 || len(bursts) > 0 && bursts[0].At.Before(events[0].Time) {
			s.addBurst(&bursts[0])
			bursts = bursts[1:]
			continue
		}
		e := events[0]
		events = events[1:]
		if last != 0 && e.Seq > last+1 {
			s.shown.add(entry{at: e.Time, lost: e.Seq - last - 1})
		}
		last = e.Seq
		if s.filter.match(factsOf(e)) {
			s.shown.add(entry{at: e.Time, seq: e.Seq})
		}
	}
}

// own is the User-Agent of the sandbox, whose watching of the vCenters is not what happens there.
const own = "vsphere-sandbox"

func (s *Screen) addBurst(b *fold.Burst) {
	if b.Client != own && (s.calls == allCalls || b.Errors > 0) && s.filter.match(burstFacts(b)) {
		s.shown.addBurst(b)
	}
}

// forget drops the rows of what the state has forgotten.
func (s *Screen) forget() {
	var first uint64
	var oldest time.Time
	bursts := s.state.Bursts()
	if len(bursts) > 0 {
		oldest = bursts[0].At
	}
	if events := s.state.World().Events(); len(events) > 0 {
		if first = events[0].Seq; first > 1 && events[0].Time.After(oldest) {
			oldest = events[0].Time
		}
	}
	s.shown.drop(func(e entry) bool {
		if e.burst != nil {
			return e.burst.last.Before(oldest)
		}
		return e.seq < first
	})
	if s.shown.bursts > 2*len(bursts)+100 { // those between events that are remembered
		fresh := s.fresh
		s.again()
		s.fresh = fresh
	}
}
