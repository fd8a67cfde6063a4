// Package printable makes text of elsewhere safe to print: names of VMs, log lines, events, errors that quote a file. A
// terminal would obey the control characters in it, C1 ones too, and show the rest in another order than it has where there
// are bidirectional marks. Both become visible escapes, as Go writes them: \x1b, \u009b, \u202e.
//
// It is for what people read. JSON and YAML escape for themselves, and stay faithful.
//
// Floor 0: it imports nothing of this module.
package printable

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line is a text on one line: line ends and tabs are spaces, everything that cannot be seen or moves what can is escaped.
func Line(s string) string { return escape(s, " ", " ") }

// Lines is [Line] for a text that keeps its lines and tabs.
func Lines(s string) string { return escape(s, "\n", "\t") }

func escape(s, newline, tab string) string {
	if clean(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\n':
			b.WriteString(newline)
		case r == '\t':
			b.WriteString(tab)
		case r == '\r' && i+1 < len(s) && s[i+1] == '\n': // the line end that follows it counts
		case r == '\r' && newline != "\n":
			b.WriteString(newline)
		case r == utf8.RuneError && size == 1, r < utf8.RuneSelf && odd(r):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r > 0xffff && odd(r):
			fmt.Fprintf(&b, `\U%08x`, r)
		case odd(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

// clean reports whether there is nothing to escape, and no line end.
func clean(s string) bool {
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if odd(r) || r == utf8.RuneError && size == 1 {
			return false
		}
		i += size
	}
	return true
}

// odd reports whether a character moves others, or cannot be seen: controls, C0 and C1; formats, which are bidirectional
// marks, zero-width characters and tags; line and paragraph separators; what is no character, and what is blank without
// being a space.
func odd(r rune) bool {
	if r >= ' ' && r < 0x7f {
		return false
	}
	switch r {
	case 0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x2028, 0x2029, 0x3164, 0xffa0:
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf) || r&0xfffe == 0xfffe
}

// Writer escapes what is written to it as [Lines] does, and writes it on. Make one with [NewWriter]; it is for one goroutine.
type Writer struct {
	w    io.Writer
	kept []byte // the beginning of a character, or a carriage return, whose rest is not there yet
}

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write implements [io.Writer].
func (w *Writer) Write(p []byte) (int, error) {
	text := append(w.kept, p...)
	whole := len(text) - unfinished(text)
	if _, err := io.WriteString(w.w, Lines(string(text[:whole]))); err != nil {
		return 0, err
	}
	w.kept = append([]byte(nil), text[whole:]...)
	return len(p), nil
}

// Flush writes what is left: the beginning of a character that never came to its end.
func (w *Writer) Flush() error {
	_, err := io.WriteString(w.w, Lines(string(w.kept)))
	w.kept = nil
	return err
}

// unfinished is how many bytes at the end of a text may mean something else once more of it is there.
func unfinished(text []byte) int {
	if n := len(text); n > 0 && text[n-1] == '\r' {
		return 1
	}
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if tail := text[len(text)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return n
			}
			return 0
		}
	}
	return 0
}
