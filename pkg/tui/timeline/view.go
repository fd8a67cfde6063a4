package timeline

import (
	"fmt"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
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
