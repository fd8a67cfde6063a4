package timeline

import (
	"cmp"
	"slices"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// Screen is the timeline, a [panel.Panel]. Make it with [New]. It is for one goroutine.
type Screen struct {
	width, height int
	theme         *theme.Theme
	state         *fold.State

	// What was taken in of the state.
	seenEvents, seenCalls uint64 // its versions
	causes                causes
	burst                 uint64 // the Seq of the newest

	filter     filter
	filterText string
	calls      showCalls
	shown      list
	paused     bool
	fresh      int // rows that came since it is paused

	chain *chain // what is shown in place of the log; nil for the log
}

// New returns a timeline that follows what comes.
func New() *Screen { return &Screen{theme: theme.Mono()} }

// SetSize gives it its place, in cells.
func (s *Screen) SetSize(width, height int) {
	s.width, s.height = max(0, width), max(0, height)
	s.place()
}

// SetTheme gives it its looks.
func (s *Screen) SetTheme(t *theme.Theme) { s.theme = t }

// SetState takes in what is new.
func (s *Screen) SetState(state *fold.State) {
	if state != s.state || state.World().LastEvent() < s.causes.last {
		s.state = state
		s.causes = causes{}
		s.seenEvents, s.seenCalls = state.Version(world.Event), state.Version(fold.Calls)
		for _, e := range state.World().Events() {
			s.causes.note(e)
		}
		s.again()
		s.rechain()
		return
	}
	events, calls := state.Version(world.Event), state.Version(fold.Calls)
	if events == s.seenEvents && calls == s.seenCalls {
		return
	}
	s.seenEvents, s.seenCalls = events, calls
	s.take()
}

// SetFilter shows only rows that match; see the package's tests for what may be said.
func (s *Screen) SetFilter(text string) {
	if text == s.filterText {
		return
	}
	s.filter, s.filterText = parse(text), text
	s.again()
}

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

// place makes room for the rows, and follows the last.
func (s *Screen) place() {
	_, rows, _ := s.heights()
	s.shown.height = rows
	if s.paused {
		s.shown.show(len(s.shown.rows))
	} else {
		s.shown.set(len(s.shown.rows)-1, len(s.shown.rows))
	}
	if s.chain != nil {
		s.chain.height = rows
		s.chain.show(len(s.chain.links))
	}
}

// follow shows what comes, or stays where it is.
func (s *Screen) follow(on bool) {
	s.paused, s.fresh = !on, 0
	s.place()
}

// event is the event that is selected.
func (s *Screen) event() (event.Event, bool) {
	if s.state == nil {
		return event.Event{}, false
	}
	if s.chain != nil {
		if l, ok := s.chain.selected(); ok {
			return s.state.World().Event(l.seq)
		}
		return event.Event{}, false
	}
	e, ok := s.shown.selected()
	if !ok || !e.isEvent() {
		return event.Event{}, false
	}
	return s.state.World().Event(e.seq)
}

// Subject is what the selected event is about; of a burst of calls, the vCenter.
func (s *Screen) Subject() (api.Subject, bool) {
	if e, ok := s.event(); ok {
		return subjectOf(e.Object)
	}
	if e, ok := s.shown.selected(); ok && s.chain == nil && e.burst != nil {
		return api.Subject{Kind: "vcenter", Name: e.burst.vcenter}, true
	}
	return api.Subject{}, false
}

// Choose selects the newest event that is about a subject, among those that are shown.
func (s *Screen) Choose(subject api.Subject) bool {
	if s.state == nil {
		return false
	}
	w := s.state.World()
	is := about(w, subject)
	for i := len(s.shown.rows) - 1; i >= 0; i-- {
		if !s.shown.rows[i].isEvent() {
			continue
		}
		if e, ok := w.Event(s.shown.rows[i].seq); ok && is(e) {
			s.chain = nil
			s.stay(i)
			return true
		}
	}
	return false
}

// stay selects a row, and no longer follows what comes.
func (s *Screen) stay(i int) {
	if !s.paused {
		s.follow(false)
	}
	s.shown.set(i, len(s.shown.rows))
}

// ShowChain shows the chain that an event belongs to, and selects the event in it. It returns false when the event is
// not remembered.
func (s *Screen) ShowChain(seq uint64) bool {
	if s.state == nil {
		return false
	}
	w := s.state.World()
	if _, ok := w.Event(seq); !ok {
		return false
	}
	s.chain = newChain(w, &s.causes, seq)
	s.place()
	return true
}
