package tui

import (
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// flash is what is said at the foot of the screen for a while.
type flash struct {
	text string
	// command is the command line that does the same as what was done.
	command string
	bad     bool
	// under: it is under way.
	under        bool
	since, until time.Time
}

const (
	// flashTime is how long it is said; what went wrong stays twice as long.
	flashTime = 6 * time.Second
	// flashLeast is how long it is said before a key takes it away.
	flashLeast = 2 * time.Second
	// flashLines is how many lines it may take. The longest are answers of servers.
	flashLines = 8
)

// say shows something at the foot of the screen for a while.
func (m *Model) say(text string, bad bool) {
	now := m.opts.Now()
	until := now.Add(flashTime)
	if bad {
		until = until.Add(flashTime)
	}
	m.flash = flash{text: text, bad: bad, since: now, until: until}
}

// heard takes away what has been said long enough to be read, as a key is pressed.
func (m *Model) heard() {
	if !m.flash.under && m.opts.Now().Sub(m.flash.since) >= flashLeast {
		m.flash = flash{}
	}
}

// aboveFoot is what the foot has no room for: it stands on the body.
func (m *Model) aboveFoot() []string {
	switch {
	case m.leaving:
	case m.typing:
		if wrong := m.line.Error(m.width); wrong != "" {
			return m.lines(theme.GlyphBad, m.theme.Bad, text.Words(wrong, m.width-4))
		}
	case m.flash.text != "":
		said := m.said()
		return said[:len(said)-1]
	}
	return nil
}

// said are the lines of what is said: one if there is room, else as many as it takes.
func (m *Model) said() []string {
	f, t := m.flash, m.theme
	style, glyph := t.Good, theme.GlyphGood
	switch {
	case f.bad:
		style, glyph = t.Bad, theme.GlyphBad
	case f.under:
		style, glyph = t.Warn, theme.GlyphWarn
	}
	room := max(1, m.width-4)
	lines := text.Words(text.Clean(f.text), room)
	if f.command != "" {
		command := "$ " + text.Clean(f.command)
		if last := len(lines) - 1; text.Width(lines[last])+3+text.Width(command) <= room {
			lines[last] += "   " + command
		} else {
			lines = append(lines, text.Words(command, room)...)
		}
	}
	return m.lines(glyph, style, lines)
}

// lines are some lines with a glyph before them, cut off after [flashLines].
func (m *Model) lines(glyph string, style theme.Style, lines []string) []string {
	if most := min(flashLines, max(1, m.layout.body.height)); len(lines) > most {
		lines = append(lines[:most-1:most-1], text.Cut(strings.Join(lines[most-1:], " "), m.width-4))
	}
	for i, l := range lines {
		lines[i] = style.Render(text.Fit(" "+text.Fit(glyph, 2)+l, m.width))
		glyph = ""
	}
	return lines
}
