package tui

import (
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// flash is a message at the foot of the screen.
type flash struct {
	text string
	// command is the equivalent command line of an action.
	command string
	bad     bool
	// under means that the action has not ended yet.
	under        bool
	since, until time.Time
}

const (
	// flashTime is how long a message stays; an error stays twice as long.
	flashTime = 6 * time.Second
	// flashLeast is how long a message stays even if a key is pressed.
	flashLeast = 2 * time.Second
	// flashLines is the maximum number of lines. Answers of servers are the longest.
	flashLines = 8
)

// say shows a message at the foot of the screen.
func (m *Model) say(text string, bad bool) {
	now := m.opts.Now()
	until := now.Add(flashTime)
	if bad {
		until = until.Add(flashTime)
	}
	m.flash = flash{text: text, bad: bad, since: now, until: until}
}

// heard removes a message that was there long enough to be read, when a key is pressed.
func (m *Model) heard() {
	if !m.flash.under && m.opts.Now().Sub(m.flash.since) >= flashLeast {
		m.flash = flash{}
	}
}

// aboveFoot returns what does not fit into the foot, to be shown above it.
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

// said returns the lines of the message: one if it fits.
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

// lines wraps a text after a glyph, and cuts it off after [flashLines].
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
