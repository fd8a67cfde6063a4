package pane

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// line is a line of text, without escape sequences, in styled pieces.
type line struct {
	text  string
	spans []span
	width int // in cells
	// seq is the event of the line, item the item to choose, from 1; 0 for none.
	seq  uint64
	item int
}

// span is a piece: it begins at the end of the previous one.
type span struct {
	to   int // byte
	look look
}

// of returns a line with one style.
func of(s string, l look) line {
	var all line
	all.add(s, l)
	return all
}

// add appends a piece.
func (l *line) add(s string, as look) {
	s = text.Clean(s)
	l.text += s
	l.width += text.Width(s)
	l.spans = append(l.spans, span{len(l.text), as})
}

// pad appends spaces up to a cell.
func (l *line) pad(to int) {
	if n := to - l.width; n > 0 {
		l.add(strings.Repeat(" ", n), plain)
	}
}

// slice returns a range of bytes, after a prefix of spaces.
func (l line) slice(from, to, indent int) line {
	part := line{seq: l.seq, item: l.item}
	part.pad(indent)
	at := 0
	for _, s := range l.spans {
		if a, b := max(at, from), min(s.to, to); a < b {
			part.add(l.text[a:b], s.look)
		}
		at = s.to
	}
	return part
}

// wrapped breaks the line at spaces into lines of at most width cells; all but the first are indented.
func (l line) wrapped(width, indent int) []line {
	if l.width <= width {
		return []line{l}
	}
	indent = min(indent, max(0, width-10))
	var all []line
	for from := 0; from < len(l.text); {
		hang := indent
		if from == 0 {
			hang = 0
		}
		to := fits(l.text, from, width-hang)
		all = append(all, l.slice(from, to, hang))
		for from = to; from < len(l.text) && l.text[from] == ' '; from++ {
		}
	}
	return all
}

// fits returns the end of a row that begins at from: at a space if possible.
func fits(s string, from, width int) int {
	to := skip(s, from, max(1, width))
	if to == len(s) || s[to] == ' ' {
		return to
	}
	if i := strings.LastIndexByte(s[from:to], ' '); i > 0 && strings.TrimSpace(s[from:from+i]) != "" {
		return from + i
	}
	if to == from { // a wide rune where there is one cell
		cluster, _ := ansi.FirstGraphemeCluster(s[from:], ansi.GraphemeWidth)
		return from + len(cluster)
	}
	return to
}

// skip returns the byte after so many cells.
func skip(s string, from, cells int) int {
	at := from
	for at < len(s) && cells > 0 {
		if s[at] < 0x80 && (at+1 == len(s) || s[at+1] < 0x80) {
			at, cells = at+1, cells-1
			continue
		}
		cluster, width := ansi.FirstGraphemeCluster(s[at:], ansi.GraphemeWidth)
		if width > cells {
			break
		}
		at, cells = at+len(cluster), cells-width
	}
	return at
}

// render renders a range of bytes in a theme. found are pieces to mark, in order; over, if not nil, is applied to all of it.
func (l line) render(t *theme.Theme, from, to int, found [][2]int, mark theme.Style, over *theme.Style) string {
	var b strings.Builder
	put := func(a, z int, style theme.Style) {
		if a >= z {
			return
		}
		if over != nil {
			style = over.Inherit(style)
		}
		b.WriteString(style.Render(l.text[a:z]))
	}
	at := 0
	for _, s := range l.spans {
		a, z := max(at, from), min(s.to, to)
		style := s.look.style(t)
		for _, f := range found {
			if f[0] < z && f[1] > a {
				put(a, max(a, f[0]), style)
				put(max(a, f[0]), min(z, f[1]), mark)
				a = min(z, f[1])
			}
		}
		put(a, z, style)
		at = s.to
	}
	return b.String()
}
