package markdown

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Options configure the output. The zero value is 80 columns without escape sequences.
type Options struct {
	Width  int  // columns; 80 if 0, and never fewer than 20
	Styled bool // bold, underlined and colored, for terminals that can; otherwise what is emphasized keeps its signs
	// Link returns the text behind the words of a link; nil shows only web addresses.
	Link func(target string) string
}

const code = "    " // before a literal line

var (
	heading = regexp.MustCompile(`^#{1,6} +(.*)$`)
	item    = regexp.MustCompile(`^(\s*)([-*+]|\d+[.)]) +(.*)$`)
	quote   = regexp.MustCompile(`^> ?(.*)$`)
)

// Terminal renders text in lines of at most o.Width columns, except for long words and code. It ends each line with a line break,
// and separates blocks by an empty line.
func Terminal(text string, o Options) string {
	o.Width = cmp.Or(o.Width, 80)
	o.Width = max(o.Width, 20)
	w := &writer{o: o}
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i := 0; i < len(lines); {
		i += w.next(lines[i:])
	}
	return strings.TrimLeft(w.out.String(), "\n")
}

type writer struct {
	o    Options
	out  strings.Builder
	list bool // the last thing was an item of a list
}

// next renders the block at the first line, and returns its number of lines.
func (w *writer) next(lines []string) int {
	first := lines[0]
	trimmed := strings.TrimSpace(first)
	if trimmed == "" {
		return 1
	}
	switch {
	case strings.HasPrefix(trimmed, "```"):
		return w.fenced(lines)
	case strings.HasPrefix(trimmed, "|"):
		return w.tabled(lines)
	case heading.MatchString(trimmed):
		w.gap(false)
		w.line(w.o.style(bold, w.o.inline(heading.FindStringSubmatch(trimmed)[1])))
		return 1
	case strings.HasPrefix(first, code):
		return w.indented(lines)
	case item.MatchString(first):
		m := item.FindStringSubmatch(first)
		n, rest := paragraph(lines[1:])
		w.gap(true)
		mark := m[2]
		if len(mark) == 1 {
			mark = "•"
		}
		mark = m[1] + "  " + mark + " "
		w.wrap(strings.TrimSpace(m[3]+" "+rest), mark, strings.Repeat(" ", utf8.RuneCountInString(mark)))
		return n + 1
	case quote.MatchString(trimmed):
		n := 0
		var words []string
		for n < len(lines) && quote.MatchString(strings.TrimSpace(lines[n])) {
			words = append(words, quote.FindStringSubmatch(strings.TrimSpace(lines[n]))[1])
			n++
		}
		w.gap(false)
		w.wrap(strings.Join(words, " "), "  │ ", "  │ ")
		return n
	}
	n, words := paragraph(lines)
	w.gap(false)
	w.wrap(words, "", "")
	return n
}

// gap writes an empty line, except between items of one list.
func (w *writer) gap(list bool) {
	if !list || !w.list {
		w.out.WriteByte('\n')
	}
	w.list = list
}

func (w *writer) line(text string) { w.out.WriteString(strings.TrimRight(text, " ") + "\n") }

// paragraph joins the lines up to another block.
func paragraph(lines []string) (n int, words string) {
	var found []string
	for _, l := range lines {
		t := strings.TrimSpace(l)
		other := t == "" || strings.HasPrefix(t, "```") || strings.HasPrefix(t, "|") || heading.MatchString(t) || item.MatchString(l) || quote.MatchString(t)
		if other {
			break
		}
		found = append(found, t)
	}
	return len(found), strings.Join(found, " ")
}

func (w *writer) fenced(lines []string) int {
	w.gap(false)
	n := 1
	for n < len(lines) && !strings.HasPrefix(strings.TrimSpace(lines[n]), "```") {
		w.line(code + lines[n])
		n++
	}
	return min(n+1, len(lines))
}

func (w *writer) indented(lines []string) int {
	w.gap(false)
	n := 0
	for n < len(lines) && strings.HasPrefix(lines[n], code) {
		w.line(lines[n])
		n++
	}
	return n
}

// wrap writes words in lines; the first one begins with first, all others with then.
func (w *writer) wrap(text, first, then string) {
	line, columns := first, utf8.RuneCountInString(first)
	empty := true
	for _, word := range w.o.words(text) {
		if !empty && columns+1+word.columns > w.o.Width {
			w.line(line)
			line, columns, empty = then, utf8.RuneCountInString(then), true
		}
		if !empty {
			line += " "
			columns++
		}
		line += word.text
		columns += word.columns
		empty = false
	}
	w.line(line)
}

// The styles, as ANSI numbers.
const (
	bold      = 1
	underline = 4
	cyan      = 36
)

// piece is a part of a line with one style.
type piece struct {
	text  string
	style int // 0 is plain
}

var mark = regexp.MustCompile("`([^`]+)`" + `|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*|\[((?:[^\[\]` + "`" + `]|` + "`[^`]*`" + `)+)\]\(([^)\s]+)\)`)

// pieces splits a text into pieces.
func (o Options) pieces(text string) []piece {
	var found []piece
	for {
		m := mark.FindStringSubmatchIndex(text)
		if m == nil {
			return append(found, piece{text: text})
		}
		found = append(found, piece{text: text[:m[0]]})
		group := func(n int) string { return text[m[2*n]:m[2*n+1]] }
		switch {
		case m[2] >= 0:
			found = append(found, piece{o.signed("`", group(1)), cyan})
		case m[4] >= 0:
			found = append(found, o.inside(group(2), bold)...)
		case m[6] >= 0:
			found = append(found, piece{o.signed("*", group(3)), underline})
		default:
			found = append(found, o.pieces(group(4))...)
			if to := o.link(group(5)); to != "" && to != strings.Trim(group(4), "`") {
				found = append(found, piece{text: " (" + to + ")"})
			}
		}
		text = text[m[1]:]
	}
}

// inside is a styled text, which may contain code.
func (o Options) inside(text string, style int) []piece {
	var found []piece
	for _, p := range o.pieces(text) {
		p.style = cmp.Or(p.style, style)
		found = append(found, p)
	}
	if o.Styled {
		return found
	}
	return append(append([]piece{{text: "**"}}, found...), piece{text: "**"})
}

func (o Options) link(target string) string {
	if o.Link != nil {
		return o.Link(target)
	}
	if strings.Contains(target, "://") {
		return target
	}
	return ""
}

// signed keeps the markup of text without styles.
func (o Options) signed(sign, text string) string {
	if o.Styled {
		return text
	}
	return sign + text + sign
}

func (o Options) style(style int, text string) string {
	if style == 0 || !o.Styled || text == "" {
		return text
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", style, text)
}

// inline renders text on one line.
func (o Options) inline(text string) string {
	var b strings.Builder
	for _, p := range o.pieces(text) {
		b.WriteString(o.style(p.style, p.text))
	}
	return b.String()
}

// columns returns the width of rendered text, without escape sequences.
func (o Options) columns(text string) int {
	n := 0
	for _, p := range o.pieces(text) {
		n += utf8.RuneCountInString(p.text)
	}
	return n
}

// word is an unbreakable part of a line.
type word struct {
	text    string
	columns int
}

// words splits text at spaces; every word has its own styles, so that lines may end anywhere.
func (o Options) words(text string) []word {
	var found []word
	joined := false // the next piece continues the last word
	for _, p := range o.pieces(text) {
		for i, part := range strings.Split(p.text, " ") {
			if i > 0 {
				joined = false
			}
			if part == "" {
				continue
			}
			w := word{o.style(p.style, part), utf8.RuneCountInString(part)}
			if joined {
				last := &found[len(found)-1]
				last.text, last.columns = last.text+w.text, last.columns+w.columns
			} else {
				found = append(found, w)
			}
			joined = true
		}
	}
	return found
}

var rule = regexp.MustCompile(`^\|[\s:|-]+\|?$`)

// tabled writes a table: in columns if it fits, otherwise row by row, cell by cell.
func (w *writer) tabled(lines []string) int {
	n := 0
	var rows [][]string
	for n < len(lines) && strings.HasPrefix(strings.TrimSpace(lines[n]), "|") {
		text := strings.TrimSpace(lines[n])
		if n++; !rule.MatchString(text) {
			rows = append(rows, cells(text))
		}
	}
	w.gap(false)
	widths := w.widths(rows)
	whole := 0
	for _, c := range widths {
		whole += c + 3
	}
	for i, row := range rows {
		if whole > w.o.Width {
			if mark := "  • "; i > 0 {
				w.wrap(strings.Join(row, ": "), mark, "    ")
			} else if strings.Join(row, "") != "" {
				w.wrap(strings.Join(row, ": "), "  ", "    ")
			}
			continue
		}
		var b strings.Builder
		for k, cell := range row {
			text := w.o.inline(cell)
			if i == 0 {
				text = w.o.style(bold, text)
			}
			b.WriteString("  " + text + strings.Repeat(" ", max(0, widths[k]-w.o.columns(cell))+1))
		}
		if strings.TrimSpace(b.String()) != "" {
			w.line(b.String())
		}
	}
	return n
}

func (w *writer) widths(rows [][]string) []int {
	var widths []int
	for _, row := range rows {
		for k, cell := range row {
			if k == len(widths) {
				widths = append(widths, 0)
			}
			widths[k] = max(widths[k], w.o.columns(cell))
		}
	}
	return widths
}

// cells returns the cells of a row; a bar in code separates too, as on the web.
func cells(row string) []string {
	row = strings.TrimSuffix(strings.TrimPrefix(row, "|"), "|")
	parts := strings.Split(strings.ReplaceAll(row, `\|`, "\x00"), "|")
	for i := range parts {
		parts[i] = strings.ReplaceAll(strings.TrimSpace(parts[i]), "\x00", "|")
	}
	return parts
}
