package pane

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// Most is the maximum number of lines of a pane: the newest.
const Most = 10000

// viewer shows a part of its lines. A row is a line or, with wrap, a part of one. bubbles/viewport is not used: it styles and
// measures all lines for each change, and has neither a cursor nor a follow mode.
type viewer struct {
	theme         *theme.Theme
	width, height int
	lines         []line
	widest        int

	wrap bool
	rows []row // with wrap only
	top  int   // the first row that is seen
	left int   // the first cell that is seen
	// follow keeps the end in view. A viewer that grows follows again when it is scrolled to the end.
	follow, grows bool
	// cursor is a line, or -1 for a viewer without a cursor.
	cursor int
	search search
}

// row is a part of a line.
type row struct{ line, from, to int }

func newViewer() viewer { return viewer{theme: theme.Mono(), cursor: -1} }

// set replaces all lines, and keeps the scroll position if possible.
func (v *viewer) set(lines []line) {
	v.lines, v.widest, v.rows = lines, 0, nil
	v.search.lines = nil
	v.measure(0)
	v.search.at = min(v.search.at, len(v.search.lines)-1)
	if v.cursor >= 0 {
		v.cursor = min(v.cursor, max(0, len(lines)-1))
	}
	v.clamp()
}

// add appends lines, and drops the oldest above the maximum.
func (v *viewer) add(lines []line) {
	from := len(v.lines)
	v.lines = append(v.lines, lines...)
	v.measure(from)
	if n := len(v.lines); n > Most {
		v.drop(n - Most*9/10)
	}
	v.clamp()
}

// measure handles the new lines, from one on.
func (v *viewer) measure(from int) {
	for i := from; i < len(v.lines); i++ {
		v.widest = max(v.widest, v.lines[i].width)
		if v.wrap {
			v.fold(i)
		}
	}
	v.search.more(v.lines, from)
}

// fold makes the rows of a line.
func (v *viewer) fold(i int) {
	l := v.lines[i]
	for from := 0; ; {
		to := len(l.text)
		if l.width > v.width {
			to = fits(l.text, from, v.width)
		}
		v.rows = append(v.rows, row{i, from, to})
		if from = to; from >= len(l.text) {
			return
		}
		for from < len(l.text) && l.text[from] == ' ' {
			from++
		}
	}
}

func (v *viewer) drop(n int) {
	top := v.lineAt(v.top)
	v.lines = slices.Clone(v.lines[n:])
	v.search.drop(n)
	if v.cursor >= 0 {
		v.cursor = max(0, v.cursor-n)
	}
	v.refold(max(0, top-n))
}

// refold makes all rows again, with a line at the top.
func (v *viewer) refold(top int) {
	v.rows = v.rows[:0]
	if v.wrap {
		for i := range v.lines {
			v.fold(i)
		}
	}
	v.top = v.rowOf(top)
	v.clamp()
}

func (v *viewer) size(width, height int) {
	top := v.lineAt(v.top)
	folded := v.wrap && width != v.width
	v.width, v.height = max(0, width), max(0, height)
	if folded {
		v.refold(top)
	}
	v.clamp()
	v.show()
}

// count returns the number of rows.
func (v *viewer) count() int {
	if v.wrap {
		return len(v.rows)
	}
	return len(v.lines)
}

// at returns a row.
func (v *viewer) at(i int) row {
	if v.wrap {
		return v.rows[i]
	}
	l := v.lines[i]
	from := skip(l.text, 0, v.left)
	return row{i, from, skip(l.text, from, v.width)}
}

func (v *viewer) lineAt(row int) int {
	if v.wrap && row < len(v.rows) {
		return v.rows[row].line
	}
	return row
}

func (v *viewer) rowOf(line int) int {
	if !v.wrap {
		return line
	}
	i, _ := slices.BinarySearchFunc(v.rows, line, func(r row, line int) int { return r.line - line })
	return i
}

func (v *viewer) clamp() {
	last := max(0, v.count()-v.height)
	if v.follow {
		v.top = last
	}
	v.top = min(max(0, v.top), last)
	v.left = min(max(0, v.left), max(0, v.widest-v.width))
}

// show scrolls to the cursor.
func (v *viewer) show() {
	if v.cursor < 0 {
		return
	}
	first := v.rowOf(v.cursor)
	last := first
	for last+1 < v.count() && v.lineAt(last+1) == v.cursor {
		last++
	}
	v.top = min(max(v.top, last-v.height+1), first)
	v.clamp()
}

// move scrolls, or moves the cursor if there is one.
func (v *viewer) move(by int) {
	if v.cursor >= 0 {
		v.cursor = min(max(0, v.cursor+by), max(0, len(v.lines)-1))
		v.show()
		return
	}
	v.follow = false
	v.top += by
	v.clamp()
	v.follow = v.grows && by > 0 && v.top+v.height >= v.count()
}

// sideways scrolls by cells.
func (v *viewer) sideways(by int) {
	v.left += by
	v.clamp()
}

// toggle wraps long lines, or cuts them off.
func (v *viewer) toggle() {
	top := v.lineAt(v.top)
	v.wrap, v.left = !v.wrap, 0
	v.refold(top)
	v.show()
}

// find searches for words; an empty filter ends the search.
func (v *viewer) find(filter string) {
	from := v.lineAt(v.top)
	if v.cursor >= 0 {
		from = v.cursor
	}
	to, ok := v.search.set(filter, v.lines, from)
	if ok || v.search.words != nil {
		v.jump(to)
	}
}

// jump goes to a line; follow mode ends if the line is elsewhere.
func (v *viewer) jump(line int) {
	if v.cursor >= 0 {
		v.cursor = line
		v.show()
		return
	}
	at := v.rowOf(line)
	if at < v.top || at >= v.top+v.height {
		v.follow = false
		v.top = at - v.height/3
	}
	v.clamp()
	if found := v.search.pieces(v.lineText(line)); !v.wrap && len(found) > 0 {
		if at := text.Width(v.lines[line].text[:found[0][0]]); at < v.left || at >= v.left+v.width-2 {
			v.left = at - v.width/3
			v.clamp()
		}
	}
}

func (v *viewer) lineText(i int) string {
	if i < 0 || i >= len(v.lines) {
		return ""
	}
	return v.lines[i].text
}

// fits reports whether all rows are visible.
func (v *viewer) fits() bool { return v.count() <= v.height }

// where describes the visible part: "1-20 of 85  23%".
func (v *viewer) where() string {
	var parts []string
	if n := len(v.search.lines); len(v.search.words) > 0 {
		parts = append(parts, fmt.Sprintf("match %d of %d", min(n, v.search.at+1), n))
	}
	if n := v.count(); !v.fits() {
		last := min(n, v.top+v.height)
		parts = append(parts, fmt.Sprintf("%d-%d of %d  %d%%", v.top+1, last, n, last*100/n))
	}
	return strings.Join(parts, "  ")
}

// view returns the visible rows.
func (v *viewer) view() []string {
	lines := make([]string, 0, v.height)
	for i := v.top; i < v.count() && len(lines) < v.height; i++ {
		r := v.at(i)
		l := v.lines[r.line]
		var over *theme.Style
		if r.line == v.cursor {
			over = &v.theme.Selected
		}
		var found [][2]int
		mark := v.theme.Match
		if n, ok := slices.BinarySearch(v.search.lines, r.line); ok {
			found = v.search.pieces(l.text)
			if n == v.search.at {
				mark = v.theme.Selected.Inherit(v.theme.Match)
			}
		}
		s := l.render(v.theme, r.from, r.to, found, mark, over)
		if over != nil {
			s += over.Render(strings.Repeat(" ", max(0, v.width-text.Width(s))))
		}
		lines = append(lines, s)
	}
	return lines
}

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
