package theme

import (
	"image/color"

	"github.com/charmbracelet/x/ansi"
)

// Style is what a text looks like. The zero value is plain. It is small and comparable, and costs nothing to render with:
// what switches it on is made once. A frame has thousands of texts, which is why it is no lipgloss.Style: that one looks
// for margins, borders and lines in each, and writes underlined text rune by rune.
type Style struct {
	attrs  attrs
	fg, bg color.Color // nil for that of the terminal
	on     string      // the escape sequence; "" for plain
}

type attrs uint8

const (
	bold attrs = 1 << iota
	underline
	reverse
	faint
)

// Render is a text of one line in this style. What comes after it is plain again.
func (s Style) Render(text string) string {
	if s.on == "" || text == "" {
		return text
	}
	return s.on + text + ansi.ResetStyle
}

// Inherit adds what a style has that s has not.
func (s Style) Inherit(from Style) Style {
	if s.attrs |= from.attrs; s.fg == nil {
		s.fg = from.fg
	}
	if s.bg == nil {
		s.bg = from.bg
	}
	return s.made()
}

// Bold makes text bold.
func (s Style) Bold() Style { return s.with(bold) }

// Underline underlines text.
func (s Style) Underline() Style { return s.with(underline) }

// Reverse exchanges the colors of text and background.
func (s Style) Reverse() Style { return s.with(reverse) }

// Faint makes text faint.
func (s Style) Faint() Style { return s.with(faint) }

func (s Style) with(a attrs) Style {
	s.attrs |= a
	return s.made()
}

// foreground and background give it colors.
func (s Style) foreground(c color.Color) Style {
	s.fg = c
	return s.made()
}

func (s Style) background(c color.Color) Style {
	s.bg = c
	return s.made()
}

// made makes what switches it on.
func (s Style) made() Style {
	var on ansi.Style
	if s.attrs&bold != 0 {
		on = on.Bold()
	}
	if s.attrs&underline != 0 {
		on = on.Underline(true)
	}
	if s.attrs&reverse != 0 {
		on = on.Reverse(true)
	}
	if s.attrs&faint != 0 {
		on = on.Faint()
	}
	if s.fg != nil {
		on = on.ForegroundColor(s.fg)
	}
	if s.bg != nil {
		on = on.BackgroundColor(s.bg)
	}
	if s.on = ""; len(on) > 0 {
		s.on = on.String()
	}
	return s
}
