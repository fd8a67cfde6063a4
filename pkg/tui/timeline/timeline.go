package timeline

import (
	"slices"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// Screen is the timeline, a [panel.Panel]. Make it with [New]. It is for one goroutine.
type Screen struct {
	width, height int
	theme         *theme.Theme
	state         *fold.State

	// The part of the state that was taken in.
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

// New returns a timeline that follows new rows.
func New() *Screen { return &Screen{theme: theme.Mono()} }

// SetSize sets its size, in cells.
func (s *Screen) SetSize(width, height int) {
	s.width, s.height = max(0, width), max(0, height)
	s.place()
}

// SetTheme sets its theme.
func (s *Screen) SetTheme(t *theme.Theme) { s.theme = t }

// SetState applies the changes of the state.
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

// SetFilter shows only rows that match all words of a filter, in any case. A word is found in the kind, the object, the
// message or the plane; of calls, in the method, the client, the vCenter or the error. These ask for more:
//
//	object:worker-1  the object, with its vCenter or its namespace before it or not; * and ? stand for anything
//	kind:vm          the kind, or how it begins: vm.powered-off; kind:*.failed* too
//	plane:vsphere    the plane or the lane: sandbox, vsphere, calls, kubernetes
//	level:warning    the level, and what is louder
//	#120             the event of that number, and what it made happen at once
//	!word            all but those; quotes keep spaces: object:"pvc-1 at worker-1"
func (s *Screen) SetFilter(text string) {
	if text == s.filterText {
		return
	}
	s.filter, s.filterText = parse(text), text
	s.again()
}

// place lays out the rows, and follows the last.
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

// follow turns follow mode on or off.
func (s *Screen) follow(on bool) {
	s.paused, s.fresh = !on, 0
	s.place()
}

// event returns the selected event.
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

// Subject returns the object of the selected event; of a burst of calls, the vCenter.
func (s *Screen) Subject() (api.Subject, bool) {
	if e, ok := s.event(); ok {
		return subjectOf(e.Object)
	}
	if e, ok := s.shown.selected(); ok && s.chain == nil && e.burst != nil {
		return api.Subject{Kind: "vcenter", Name: e.burst.vcenter}, true
	}
	return api.Subject{}, false
}

// Choose selects the newest visible event about a subject.
func (s *Screen) Choose(subject api.Subject) bool {
	if s.state == nil {
		return false
	}
	w := s.state.World()
	is := about(w, subject)
	for i, v := range slices.Backward(s.shown.rows) {
		if !v.isEvent() {
			continue
		}
		if e, ok := w.Event(v.seq); ok && is(e) {
			s.chain = nil
			s.stay(i)
			return true
		}
	}
	return false
}

// stay selects a row, and stops following.
func (s *Screen) stay(i int) {
	if !s.paused {
		s.follow(false)
	}
	s.shown.set(i, len(s.shown.rows))
}

// ShowChain shows the chain of an event, and selects the event in it. It returns false if the event was dropped.
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
