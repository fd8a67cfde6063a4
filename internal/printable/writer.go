package printable

import (
	"io"
	"unicode/utf8"
)

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
