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
	first, rest := " "+glyph+" ", strings.Repeat(" ", 2+text.Width(glyph))
	room := max(1, m.width-text.Width(rest)-1)
	lines := text.Words(text.Clean(f.text), room)
	if f.command != "" {
		command := "$ " + text.Clean(f.command)
		if last := len(lines) - 1; text.Width(lines[last])+3+text.Width(command) <= room {
			lines[last] += "   " + command
		} else {
			lines = append(lines, text.Words(command, room)...)
		}
	}
	if most := min(flashLines, max(1, m.layout.body.height)); len(lines) > most {
		lines = append(lines[:most-1:most-1], text.Cut(strings.Join(lines[most-1:], " "), room))
	}
	for i, l := range lines {
		before := rest
		if i == 0 {
			before = first
		}
		lines[i] = style.Render(text.Fit(before+l, m.width))
	}
	return lines
}
