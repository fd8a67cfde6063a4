package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// View returns the screen.
func (s *Screen) View() string {
	if s.state == nil {
		return text.Block(nil, s.width, s.height)
	}
	_, rows, foot := s.heights()
	lines := make([]string, 0, s.height)
	if s.chain != nil {
		lines = append(lines, s.chainTitle(), s.chainHeader())
		lines = append(lines, s.chainRows(rows)...)
	} else {
		lines = append(lines, s.title(), s.header())
		lines = append(lines, s.rows(rows)...)
	}
	if foot > 0 {
		lines = append(lines, s.foot(foot)...)
	}
	return text.Block(lines, s.width, s.height)
}

func (s *Screen) line(selected bool) *line {
	return &line{width: s.width, theme: s.theme, selected: selected}
}

// title shows whether the timeline follows, and what it leaves out.
func (s *Screen) title() string {
	l, events := s.line(false), s.state.World().Events()
	if s.paused {
		l.put(theme.GlyphOff+" paused", s.theme.Warn)
		if s.fresh > 0 {
			l.put(fmt.Sprintf(", %s new", text.Count(uint64(s.fresh))), s.theme.Warn)
		}
	} else {
		l.put(theme.GlyphGood+" following", s.theme.Good)
	}
	l.put(fmt.Sprintf("  %s events", text.Count(uint64(len(events)))), s.theme.Dim)
	if s.filterText != "" {
		l.put(fmt.Sprintf(", %s rows match ", text.Count(uint64(len(s.shown.rows)))), s.theme.Dim)
		l.put(text.Clean(s.filterText), s.theme.Match)
	}
	if s.calls != allCalls {
		l.put("  "+s.calls.String(), s.theme.Dim)
	}
	if len(events) > 0 && events[0].Seq > 1 {
		l.put(fmt.Sprintf("  %s older not kept", text.Count(events[0].Seq-1)), s.theme.Dim)
	}
	return l.String()
}

// header names the columns.
func (s *Screen) header() string {
	c := s.columns()
	var b strings.Builder
	b.WriteString(" " + text.Fit("TIME", c.time) + " ")
	if c.latency > 0 {
		b.WriteString(text.Fit("LATENCY", c.latency) + " ")
	}
	if c.step > 0 {
		for l := range lanes {
			b.WriteString(text.Fit(l.heading(), c.step))
		}
	} else {
		b.WriteString("LANE  " + text.Fit("KIND", c.kind) + " " + text.Fit("OBJECT", c.object) + " MESSAGE")
	}
	return s.theme.Header.Render(text.Fit(b.String(), s.width))
}

// rows returns the visible rows.
func (s *Screen) rows(height int) []string {
	var lines []string
	if len(s.shown.rows) == 0 {
		empty := "nothing has happened yet"
		if s.filterText != "" {
			empty = "nothing matches " + text.Clean(s.filterText)
		}
		lines = append(lines, s.theme.Dim.Render(text.Fit(empty, s.width)))
	}
	c, mark := s.columns(), s.related()
	for i := s.shown.top; i < len(s.shown.rows) && i < s.shown.top+height; i++ {
		lines = append(lines, s.row(s.shown.rows[i], c, mark, i == s.shown.cursor))
	}
	return append(lines, make([]string, max(0, height-len(lines)))...)
}

// related returns a func that reports whether an event has the first cause of the selected one, or nil if no other does.
func (s *Screen) related() func(seq uint64) bool {
	e, ok := s.event()
	if !ok || e.Cause == 0 && len(s.causes.effects(e.Seq)) == 0 {
		return func(uint64) bool { return false }
	}
	return func(seq uint64) bool { return s.causes.related(seq, e.Seq) }
}

func (s *Screen) row(r entry, c columns, related func(uint64) bool, selected bool) string {
	l := s.line(selected)
	switch {
	case r.lost > 0:
		l.put(" ", s.theme.Text)
		l.cell("", c.time, s.theme.Dim)
		l.put(fmt.Sprintf("%s %s events lost", theme.GlyphConflict, text.Count(r.lost)), s.theme.Bad)
	case r.burst != nil:
		l.put(" ", s.theme.Text)
		s.burstRow(l, r.burst, c)
	default:
		e, _ := s.state.World().Event(r.seq)
		m := " "
		if related(r.seq) {
			m = "┃"
		}
		l.put(m, s.theme.Title)
		s.eventRow(l, e, c)
	}
	return l.String()
}

func (s *Screen) eventRow(l *line, e event.Event, c columns) {
	t := s.theme
	l.cell(s.clock(e.Time, c), c.time, t.Dim)
	if c.latency > 0 {
		hop, style := s.since(e)
		l.cell(hop, c.latency, style)
	}
	end := s.lane(l, laneOf(e), tag(e), e.Level, c)
	l.least(text.Clean(e.Kind), c.kind, laneOf(e).style(t))
	l.least(short(objectName(e.Object)), c.object, t.Text)
	l.put(short(e.Message), levelStyle(e.Level, t))
	end()
}

func (s *Screen) burstRow(l *line, b *burst, c columns) {
	t := s.theme
	l.cell(s.clock(b.first, c), c.time, t.Dim)
	if c.latency > 0 {
		l.cell("", c.latency, t.Dim)
	}
	end := s.lane(l, driversLane, b.tag(), b.level(), c)
	l.least(text.Cut(b.what(), c.kind+8), c.kind, t.Drivers)
	l.least(b.who(c.step == 0), c.object, t.Text)
	l.put(b.count(), t.Dim)
	if b.errors > 0 {
		l.put(", "+b.failed(), t.Warn)
	}
	end()
}

// lane begins the text of a lane, and returns how to end it.
func (s *Screen) lane(l *line, in lane, tag string, loud event.Level, c columns) func() {
	glyph, _ := level(loud)
	if c.step == 0 {
		l.cell(tag, 3, in.style(s.theme))
		l.cell(glyph, 1, levelStyle(loud, s.theme))
		return func() {}
	}
	from := l.used
	for range in {
		l.cell("│", c.step-1, s.theme.Border)
	}
	if glyph == " " {
		l.cell("├", 1, in.style(s.theme))
	} else {
		l.cell(glyph, 1, levelStyle(loud, s.theme))
	}
	return func() {
		for i := in + 1; i < lanes; i++ {
			if x := from + int(i)*c.step; l.used < x {
				l.to(x)
				l.put("│", s.theme.Border)
			}
		}
	}
}

// clock formats a time, in the time zone of the state.
func (s *Screen) clock(at time.Time, c columns) string {
	return at.In(s.state.Now().Location()).Format(c.clock())
}

// since formats the time from an event's cause, in the style of the cause's lane; "" without a cause.
func (s *Screen) since(e event.Event) (string, theme.Style) {
	if e.Cause == 0 {
		return "", s.theme.Dim
	}
	cause, ok := s.state.World().Event(e.Cause)
	if !ok {
		return fmt.Sprintf("%s #%d", theme.GlyphCause, e.Cause), s.theme.Dim
	}
	return theme.GlyphCause + " " + latency(e.Time.Sub(cause.Time)), laneOf(cause).style(s.theme)
}

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
