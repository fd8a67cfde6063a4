package timeline

import (
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// line is a line of a screen that is being written: pieces of text in their styles, as many as there is room for.
type line struct {
	width    int
	used     int
	theme    *theme.Theme
	selected bool
	b        strings.Builder
}

// put adds a text as it is.
func (l *line) put(s string, style theme.Style) {
	room := l.width - l.used
	if s == "" || room <= 0 {
		return
	}
	if s = text.Cut(s, room); l.selected {
		style = l.theme.Selected.Inherit(style)
	}
	l.used += text.Width(s)
	if !l.selected && strings.TrimLeft(s, " ") == "" {
		l.b.WriteString(s)
		return
	}
	l.b.WriteString(style.Render(s))
}

// cell adds a text in so many cells, and a space.
func (l *line) cell(s string, width int, style theme.Style) {
	l.put(text.Fit(s, width), style)
	l.put(" ", l.theme.Text)
}

// least adds a text in at least so many cells, and a space.
func (l *line) least(s string, width int, style theme.Style) {
	l.put(s, style)
	l.put(strings.Repeat(" ", max(0, width-text.Width(s))+1), l.theme.Text)
}

// to fills up to a cell.
func (l *line) to(x int) {
	l.put(strings.Repeat(" ", max(0, x-l.used)), l.theme.Text)
}

// String is the line, full.
func (l *line) String() string {
	l.to(l.width)
	return l.b.String()
}
