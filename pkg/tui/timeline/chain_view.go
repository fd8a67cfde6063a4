package timeline

import (
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// chainTitle returns the first cause, the last effect, and the time between them.
func (s *Screen) chainTitle() string {
	l, w := s.line(false), s.state.World()
	first, _ := w.Event(s.chain.root)
	last := s.chain.last
	l.put("chain  ", s.theme.Title)
	l.put(fmt.Sprintf("%s #%d", text.Clean(first.Kind), first.Seq), laneOf(first).style(s.theme))
	switch n := len(s.chain.links) - 1; n {
	case 0:
		l.put(" has had no effects", s.theme.Dim)
	case 1:
		l.put(" → 1 effect, ", s.theme.Text)
	default:
		l.put(fmt.Sprintf(" → %s effects, ", text.Count(uint64(n))), s.theme.Text)
	}
	if last.Seq != first.Seq {
		l.put(latency(last.Time.Sub(first.Time)), s.theme.Title)
		l.put(" to ", s.theme.Text)
		l.put(fmt.Sprintf("%s #%d", text.Clean(last.Kind), last.Seq), laneOf(last).style(s.theme))
	}
	if first.Cause != 0 {
		l.put(fmt.Sprintf("  its cause #%d is not kept", first.Cause), s.theme.Warn)
	}
	return l.String()
}

func (s *Screen) chainHeader() string {
	h := " "
	if s.width >= wideWidth {
		h += text.Fit("TIME", s.columns().time) + " "
	}
	return s.theme.Header.Render(text.Fit(h+"TOTAL    HOP      LANE  EVENT", s.width))
}

// chainRows returns the visible rows of the chain.
func (s *Screen) chainRows(height int) []string {
	var lines []string
	for i := s.chain.top; i < len(s.chain.links) && i < s.chain.top+height; i++ {
		lines = append(lines, s.chainRow(i))
	}
	return append(lines, make([]string, max(0, height-len(lines)))...)
}

func (s *Screen) chainRow(i int) string {
	const hop = 8
	t, w, c := s.theme, s.state.World(), s.columns()
	l := s.line(i == s.chain.cursor)
	e, _ := w.Event(s.chain.links[i].seq)
	first, _ := w.Event(s.chain.root)
	l.put(" ", t.Text)
	if s.width >= wideWidth {
		l.cell(s.clock(e.Time, c), c.time, t.Dim)
	}
	total := ""
	if e.Seq != first.Seq {
		total = latency(e.Time.Sub(first.Time))
	}
	l.cell(total, hop, t.Text)
	since, style := s.since(e)
	l.cell(since, hop, style)
	l.cell(tag(e), 3, laneOf(e).style(t))
	glyph, _ := level(e.Level)
	l.cell(glyph, 1, levelStyle(e.Level, t))
	l.put(s.chain.branches(i, (s.width-l.used)/3), t.Border)
	l.put(text.Clean(e.Kind)+" ", laneOf(e).style(t))
	l.put(short(objectName(e.Object))+"  ", t.Text)
	l.put(short(e.Message), levelStyle(e.Level, t))
	return l.String()
}

// causeLine describes the cause of an event, and its effects.
func (s *Screen) causeLine(l *line, seq, cause uint64) {
	if cause != 0 {
		l.put(fmt.Sprintf("  %s #%d", theme.GlyphCause, cause), s.theme.Link)
		if e, ok := s.state.World().Event(cause); ok {
			l.put(" "+text.Clean(e.Kind), s.theme.Text)
		} else {
			l.put(" not kept", s.theme.Dim)
		}
		if e, ok := s.state.World().Event(seq); ok {
			if c, ok := s.state.World().Event(cause); ok {
				l.put(" "+latency(e.Time.Sub(c.Time)), s.theme.Text)
			}
		}
	}
	switch n := len(s.causes.effects(seq)); n {
	case 0:
	case 1:
		l.put("  1 direct effect", s.theme.Dim)
	default:
		l.put(fmt.Sprintf("  %s direct effects", text.Count(uint64(n))), s.theme.Dim)
	}
}
