package timeline

import (
	"fmt"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// foot is the selected row, whole, in so many lines.
func (s *Screen) foot(height int) []string {
	lines := []string{s.theme.Border.Render(strings.Repeat("─", s.width))}
	if e, ok := s.event(); ok {
		lines = append(lines, s.about(e))
		lines = append(lines, s.wrapped(e.Message, height-2)...)
	} else if r, ok := s.shown.selected(); ok && s.chain == nil && r.burst != nil {
		lines = append(lines, s.aboutBurst(r.burst))
		lines = append(lines, s.wrapped(r.burst.told(), height-2)...)
	} else if ok && s.chain == nil {
		lines = append(lines, s.wrapped("These happened between the rows above and below. They came faster than they could be read, or the recording does not have them.", height-1)...)
	}
	lines = append(lines, make([]string, max(0, height-len(lines)))...)
	return lines[:height]
}

// about is the first line about an event: what it is, of what and how it came.
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

// aboutBurst is the first line about some calls: who made them, and how they went.
func (s *Screen) aboutBurst(b *burst) string {
	l, t := s.line(false), s.theme
	l.put(text.Clean(b.client)+" → vCenter "+text.Clean(b.vcenter), t.Drivers)
	l.put("  "+b.count(), t.Text)
	if b.errors > 0 {
		l.put(fmt.Sprintf("  %s %s failed", theme.GlyphWarn, text.Count(b.errors)), t.Warn)
	}
	return l.String()
}

// wrapped is a text in at most so many lines; the last ends with an ellipsis where there is more.
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
