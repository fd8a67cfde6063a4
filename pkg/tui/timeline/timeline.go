package timeline

import (
	"fmt"
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
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

// far is beyond the end of any timeline.
const far = 1 << 30

// Handle handles a key.
func (s *Screen) Handle(k tea.KeyPressMsg) (intent.Intent, bool) {
	if s.state == nil {
		return nil, false
	}
	if by, ok := s.way(k.String()); ok {
		s.move(by)
		return nil, true
	}
	switch k.String() {
	case "enter", "c":
		return s.enter(k.String() == "c"), true
	case "space":
		return s.sameObject(), true
	case "esc":
		if s.chain == nil {
			return nil, false
		}
		s.chain = nil
		return nil, true
	}
	if s.chain != nil {
		return nil, false
	}
	switch k.String() {
	case "t":
		s.follow(s.paused)
		return nil, true
	case "i", "I":
		return s.fault(k.String() == "I"), true
	case "b":
		s.calls = (s.calls + 1) % callChoices
		s.again()
		return nil, true
	}
	return nil, false
}

// way returns the number of rows that a key moves by.
func (s *Screen) way(key string) (by int, ok bool) {
	page := max(1, s.shown.height)
	switch key {
	case "up", "k":
		return -1, true
	case "down", "j":
		return 1, true
	case "pgup":
		return -page, true
	case "pgdown":
		return page, true
	case "ctrl+u":
		return -max(1, page/2), true
	case "ctrl+d":
		return max(1, page/2), true
	case "home", "g":
		return -far, true
	case "end", "G":
		return far, true
	}
	return 0, false
}

// move moves the cursor. Upwards it stops following; at the end it follows again.
func (s *Screen) move(by int) {
	if s.chain != nil {
		s.chain.move(by, len(s.chain.links))
		return
	}
	n := len(s.shown.rows)
	switch {
	case by == far, by > 0 && s.shown.cursor >= n-1:
		s.follow(true)
	case by < 0 && !s.paused && n > 0:
		s.follow(false)
		s.shown.move(by, n)
	default:
		s.shown.move(by, n)
	}
}

// enter shows the chain of the selected event or, in a chain, the event in the log.
func (s *Screen) enter(back bool) intent.Intent {
	e, ok := s.event()
	if s.chain != nil {
		s.chain = nil
		if ok && !back {
			s.show(e.Seq)
		}
		return nil
	}
	if !ok {
		if r, there := s.shown.selected(); there && r.burst != nil {
			return intent.Go{Screen: intent.Calls}
		}
		return intent.Say{Text: "no event is selected", Bad: true}
	}
	s.ShowChain(e.Seq)
	return nil
}

// show selects an event of the log, if it is visible.
func (s *Screen) show(seq uint64) {
	if i := s.shown.find(seq); i < len(s.shown.rows) && s.shown.rows[i].seq == seq && s.shown.rows[i].isEvent() {
		s.stay(i)
	}
}

// sameObject filters by the object of the selected event, or removes that filter.
func (s *Screen) sameObject() intent.Intent {
	e, ok := s.event()
	if !ok || e.Object.Name == "" {
		return intent.Say{Text: "the row is not about an object", Bad: true}
	}
	s.chain = nil
	text := "object:" + e.Object.Name
	if strings.Contains(text, " ") {
		text = `object:"` + e.Object.Name + `"`
	}
	if text == s.filterText {
		text = ""
	}
	return intent.Filter{Text: text}
}

// fault goes to the next or the previous injection.
func (s *Screen) fault(next bool) intent.Intent {
	r, ok := s.shown.selected()
	if !ok {
		return nil
	}
	from := r.seq
	if !r.isEvent() && !next { // it stands behind the event of its Seq
		from++
	}
	for {
		seq, ok := s.causes.fault(from, next)
		if !ok {
			where := "above"
			if next {
				where = "below"
			}
			return intent.Say{Text: "no injected fault " + where, Bad: true}
		}
		if i := s.shown.find(seq); i < len(s.shown.rows) && s.shown.rows[i].seq == seq {
			s.stay(i)
			return nil
		}
		from = seq // a filter hides it
	}
}

// Bindings returns the keys that have an effect now.
func (s *Screen) Bindings() []key.Binding {
	b := func(on bool, shown, does string, keys ...string) key.Binding {
		k := key.NewBinding(key.WithKeys(keys...), key.WithHelp(shown, does))
		k.SetEnabled(on)
		return k
	}
	_, isEvent := s.event()
	chain, any := s.chain != nil, len(s.shown.rows) > 0
	follow := "stop following"
	if s.paused {
		follow = "follow"
	}
	enter := b(isEvent, "enter/c", "chain: cause to effects", "enter", "c")
	if r, there := s.shown.selected(); there && !chain && !isEvent && r.burst != nil {
		enter = b(true, "enter", "all calls", "enter")
	}
	if chain {
		enter = b(isEvent, "enter", "show in the log", "enter")
	}
	return []key.Binding{
		enter,
		b(chain, "esc/c", "back to the log", "esc", "c"),
		b(!chain, "t", follow, "t"),
		b(isEvent, "space", "only its object", "space"),
		b(!chain && len(s.causes.faults) > 0, "i/I", "previous/next fault", "i", "I"),
		b(!chain, "b", ((s.calls + 1) % callChoices).String(), "b"),
		b(any, "↑↓/jk", "select", "up", "down", "k", "j"),
		b(any, "g/G", "first/last", "home", "g", "end", "G"),
		b(any, "pgup/pgdn", "page", "pgup", "pgdown"),
		b(any, "ctrl+u/ctrl+d", "half a page", "ctrl+u", "ctrl+d"),
	}
}

// Click selects a row; on the selected one it is enter. On the first line it toggles follow mode.
func (s *Screen) Click(_, y int) (intent.Intent, bool) {
	head, rows, _ := s.heights()
	if s.state == nil || y < 0 || y >= head+rows {
		return nil, false
	}
	if y < head {
		if y == 0 && s.chain == nil {
			s.follow(s.paused)
		}
		return nil, true
	}
	at, n, w := y-head, len(s.shown.rows), &s.shown.window
	if s.chain != nil {
		n, w = len(s.chain.links), &s.chain.window
	}
	switch i := w.top + at; {
	case i >= n:
	case i == w.cursor:
		return s.enter(false), true
	case s.chain == nil:
		s.stay(i)
	default:
		w.set(i, n)
	}
	return nil, true
}

// Wheel moves by some rows.
func (s *Screen) Wheel(lines int) {
	if s.state != nil {
		s.move(lines)
	}
}

// foot shows the selected row in full, in so many lines.
func (s *Screen) foot(height int) []string {
	lines := []string{s.theme.Border.Render(strings.Repeat("─", s.width))}
	if e, ok := s.event(); ok {
		lines = append(lines, s.about(e))
		lines = append(lines, s.wrapped(e.Message, height-2)...)
	} else if r, ok := s.shown.selected(); ok && s.chain == nil && r.burst != nil {
		lines = append(lines, s.aboutBurst(r.burst))
		lines = append(lines, s.wrapped(r.burst.describe(), height-2)...)
	} else if ok && s.chain == nil {
		lines = append(lines, s.wrapped("These happened between the rows above and below. They came faster than they could be read, or the recording does not have them.", height-1)...)
	}
	lines = append(lines, make([]string, max(0, height-len(lines)))...)
	return lines[:height]
}

// about returns the first line about an event: its kind, object and cause.
func (s *Screen) about(e event.Event) string {
	l, t := s.line(false), s.theme
	l.put(fmt.Sprintf("#%d ", e.Seq), t.Link)
	l.put(text.Clean(e.Kind), laneOf(e).style(t))
	if e.Object.Name != "" {
		l.put("  "+text.Clean(strings.TrimSpace(e.Object.Kind+" "+objectName(e.Object))), t.Text)
	}
	glyph, word := level(e.Level)
	l.put("  "+strings.TrimSpace(glyph+" "+word), levelStyle(e.Level, t))
	s.causeLine(l, e.Seq, e.Cause)
	return l.String()
}

// aboutBurst returns the first line about some calls: the caller and the results.
func (s *Screen) aboutBurst(b *burst) string {
	l, t := s.line(false), s.theme
	l.put(text.Clean(b.client)+" → vCenter "+text.Clean(b.vcenter), t.Drivers)
	l.put("  "+b.count(), t.Text)
	if b.errors > 0 {
		l.put(fmt.Sprintf("  %s %s failed", theme.GlyphWarn, text.Count(b.errors)), t.Warn)
	}
	return l.String()
}

// wrapped wraps a text to at most so many lines, with an ellipsis for the rest.
func (s *Screen) wrapped(said string, most int) []string {
	lines := text.Wrap(text.Clean(said), s.width)
	if len(lines) > most {
		rest := strings.Join(lines[most-1:], " ")
		lines = append(lines[:most-1:most-1], text.Cut(rest, s.width))
	}
	for i := range lines {
		lines[i] = s.theme.Text.Render(lines[i])
	}
	return lines
}

// subjectOf returns the subject of an event.
func subjectOf(o event.Object) (api.Subject, bool) {
	if o.Name == "" {
		return api.Subject{}, false
	}
	switch o.Kind {
	case "VM":
		return api.Subject{Kind: "vm", VCenter: o.VCenter, Name: o.Name}, true
	case "Host":
		return api.Subject{Kind: "host", VCenter: o.VCenter, Name: o.Name}, true
	case "Node":
		return api.Subject{Kind: "node", Name: o.Name}, true
	case "VCenter":
		return api.Subject{Kind: "vcenter", Name: o.Name}, true
	case "Component":
		return api.Subject{Kind: "component", Name: o.Name}, true
	case "Volume":
		return api.Subject{Kind: "volume", VCenter: o.VCenter, Name: o.Name}, true
	case "PersistentVolume", "PersistentVolumeClaim":
		return api.Subject{Kind: "volume", Name: o.Name}, true
	case "VolumeAttachment":
		volume, _, ok := strings.Cut(o.Name, " at ") // the name of its volume, and the node's
		return api.Subject{Kind: "volume", Name: volume}, ok
	}
	return api.Subject{}, false
}

// about returns a func that reports whether an event is about a subject. A volume has a different name on each plane.
func about(w *world.World, s api.Subject) func(event.Event) bool {
	names := []string{s.Name}
	if s.Kind == "volume" {
		for _, row := range w.Rows(world.Volume) {
			if all := row.Names(); row.Key == s.Name || slices.Contains(all, s.Name) {
				names = append(all, row.Key)
			}
		}
	}
	return func(e event.Event) bool {
		is, ok := subjectOf(e.Object)
		return ok && is.Kind == s.Kind && slices.Contains(names, is.Name) &&
			(is.VCenter == "" || s.VCenter == "" || is.VCenter == s.VCenter)
	}
}

// objectName formats an object in a row: us/worker-1.
func objectName(o event.Object) string {
	if o.VCenter != "" && o.VCenter != o.Name {
		return strings.TrimSuffix(o.VCenter+"/"+o.Name, "/")
	}
	return o.Name
}
