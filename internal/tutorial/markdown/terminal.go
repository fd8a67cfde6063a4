package markdown

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// Options are how text is to look. The zero value is 80 columns without any escape sequence.
type Options struct {
	Width  int  // columns; 80 if 0, and never fewer than 20
	Styled bool // bold, underlined and colored, for terminals that can; otherwise what is emphasized keeps its signs
	// Link says what is shown behind the words of a link; nil shows addresses of the web only.
	Link func(target string) string
}

const code = "    " // before a line that is to be read as it is

var (
	heading = regexp.MustCompile(`^#{1,6} +(.*)$`)
	item    = regexp.MustCompile(`^(\s*)([-*+]|\d+[.)]) +(.*)$`)
	quote   = regexp.MustCompile(`^> ?(.*)$`)
)

// Terminal returns the text in lines of at most o.Width columns, where words and code allow it, with an end of line after
// each, and one empty line between what is separate.
func Terminal(text string, o Options) string {
	if o.Width == 0 {
		o.Width = 80
	}
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

// next writes what begins with the first line, and returns how many lines that were.
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

// gap leaves an empty line, unless items of one list follow each other.
func (w *writer) gap(list bool) {
	if !list || !w.list {
		w.out.WriteByte('\n')
	}
	w.list = list
}

func (w *writer) line(text string) { w.out.WriteString(strings.TrimRight(text, " ") + "\n") }

// paragraph takes lines up to what is something else, and joins their words.
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

// wrap writes words in lines, the first of which begins with first, and all others with then.
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
