package timeline

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
)

// entry is a row of the timeline: an event, a burst of calls, or a gap.
type entry struct {
	at time.Time
	// seq is that of the event, or of the row before a burst or a gap, so that rows are sorted by it.
	seq uint64
	// burst is set for calls; lost is the number of missing events, for a gap.
	burst *burst
	lost  uint64
}

func (e entry) isEvent() bool { return e.burst == nil && e.lost == 0 }

// window is the visible part of some rows, with the cursor.
type window struct{ cursor, top, height int }

// move moves the cursor by so many of n rows.
func (w *window) move(by, n int) { w.set(w.cursor+by, n) }

// set moves the cursor to a row of n, and scrolls to it.
func (w *window) set(i, n int) {
	w.cursor = max(0, min(i, n-1))
	w.show(n)
}

func (w *window) show(n int) {
	height := max(1, w.height)
	w.top = min(w.top, w.cursor)
	w.top = max(w.top, w.cursor-height+1)
	w.top = max(0, min(w.top, n-height))
}

// list is the visible rows.
type list struct {
	window
	rows   []entry
	bursts int // how many rows are bursts
}

// add appends an event or a gap.
func (l *list) add(e entry) { l.insert(len(l.rows), e) }

// addBurst inserts calls by time. It adds them to a burst since the last event: between two events a client has one row of each
// vCenter, or two if some fail.
func (l *list) addBurst(b *fold.Burst) {
	i := len(l.rows)
	for i > 0 && l.rows[i-1].at.After(b.At) {
		i--
	}
	for j := i - 1; j >= 0 && l.rows[j].burst != nil; j-- {
		if l.rows[j].burst.same(b) {
			l.rows[j].burst.add(b)
			return
		}
	}
	l.bursts++
	l.insert(i, entry{at: b.At, burst: newBurst(b)})
}

// insert inserts a row. The cursor stays on its row.
func (l *list) insert(i int, e entry) {
	if !e.isEvent() {
		if e.seq = 0; i > 0 {
			e.seq = l.rows[i-1].seq
		}
	}
	if i < len(l.rows) && i <= l.cursor {
		l.cursor++
		l.top++
	}
	l.rows = slices.Insert(l.rows, i, e)
}

// drop drops the first rows that are too old.
func (l *list) drop(gone func(entry) bool) {
	n := 0
	for n < len(l.rows) && gone(l.rows[n]) {
		if l.rows[n].burst != nil {
			l.bursts--
		}
		n++
	}
	l.rows = l.rows[n:]
	l.cursor = max(0, l.cursor-n)
	l.top = max(0, l.top-n)
}

// find returns the row of the event, or the first after it.
func (l *list) find(seq uint64) int {
	i := sort.Search(len(l.rows), func(i int) bool { return l.rows[i].seq >= seq })
	for j := i; j < len(l.rows) && l.rows[j].seq == seq; j++ {
		if l.rows[j].isEvent() {
			return j
		}
	}
	return i
}

// selected returns the row with the cursor.
func (l *list) selected() (entry, bool) {
	if l.cursor < 0 || l.cursor >= len(l.rows) {
		return entry{}, false
	}
	return l.rows[l.cursor], true
}

// take adds new events and calls to the rows.
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

// rechain keeps the current chain in another state, if its events exist there.
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

// newBursts returns the bursts since the last take.
func (s *Screen) newBursts() []fold.Burst {
	all := s.state.Bursts()
	if s.calls == noCalls || len(all) == 0 {
		return nil
	}
	i, _ := slices.BinarySearchFunc(all, s.burst+1, func(b fold.Burst, seq uint64) int { return cmp.Compare(b.Seq, seq) })
	s.burst = all[len(all)-1].Seq
	return all[i:]
}

// again rebuilds all rows, and keeps the cursor where it was, or near.
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

// merge adds events after the one with the Seq last, and bursts, in the order of time.
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

// own is the User-Agent of the sandbox, whose own requests are not shown.
const own = "vsphere-sandbox"

func (s *Screen) addBurst(b *fold.Burst) {
	if b.Client != own && (s.calls == allCalls || b.Errors > 0) && s.filter.match(burstFacts(b)) {
		s.shown.addBurst(b)
	}
}

// forget drops the rows that the state has dropped.
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
