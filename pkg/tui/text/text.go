package text

import (
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
)

// Cut shortens s to at most width cells, with an ellipsis where something is missing. Styles are kept whole.
func Cut(s string, width int) string {
	s, _ = cut(s, width)
	return s
}

// cut also tells how wide it is then.
func cut(s string, width int) (string, int) {
	if width <= 0 {
		return "", 0
	}
	n := Width(s)
	if n <= width {
		return s, n
	}
	if isASCII(s) {
		return s[:width-1] + "…", width
	}
	s = ansi.Truncate(s, width, "…")
	return s, Width(s)
}

// isASCII tells whether s is printable ASCII alone.
func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// Fit makes s exactly width cells wide.
func Fit(s string, width int) string {
	s, n := cut(s, width)
	if n < width {
		return s + blank(width-n)
	}
	return s
}

// Right makes s exactly width cells wide, with the spaces before it.
func Right(s string, width int) string {
	s, n := cut(s, width)
	if n < width {
		return blank(width-n) + s
	}
	return s
}

// Block makes lines exactly height lines of exactly width cells: what is too much is cut off, what is missing is empty.
func Block(lines []string, width, height int) string {
	fitted := make([]string, 0, max(0, height))
	for i := 0; i < len(lines) && i < height; i++ {
		fitted = append(fitted, Fit(lines[i], width))
	}
	return Stack(fitted, width, height)
}

// Stack is [Block] of lines that are exactly width cells wide already: they are not measured again.
func Stack(lines []string, width, height int) string {
	size := height
	for i := range height {
		if i < len(lines) {
			size += len(lines[i])
		} else {
			size += width
		}
	}
	var b strings.Builder
	b.Grow(max(0, size))
	for i := range height {
		if i > 0 {
			b.WriteByte('\n')
		}
		if i < len(lines) {
			b.WriteString(lines[i])
		} else {
			b.WriteString(blank(width))
		}
	}
	return b.String()
}

// Wrap breaks s into lines of at most width cells, at spaces where there are some.
func Wrap(s string, width int) []string {
	if width <= 0 {
		return nil
	}
	return strings.Split(ansi.Wrap(s, width, ""), "\n")
}

// Clean makes text of elsewhere (a hostname, a log line, an error) safe to print in a cell: escape sequences are left out,
// bytes that are no text become a stand-in, and the rest is as package printable has it.
func Clean(s string) string {
	if isASCII(s) {
		return s
	}
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "·"), "\ufffd", "·") // the same, once it went through runes
	return printable.Line(ansi.Strip(s))
}

// Ago writes a duration as kubectl does in its AGE column, with tenths below ten seconds: 0.4s, 12s, 5m, 3h, 2d.
func Ago(d time.Duration) string {
	switch d = max(0, d); {
	case d < 10*time.Second:
		return trimUnit(d.Truncate(100 * time.Millisecond))
	case d < 2*time.Minute:
		return trimUnit(d.Truncate(time.Second) / time.Second * time.Second)
	case d < 2*time.Hour:
		return itoa(int(d/time.Minute)) + "m"
	case d < 48*time.Hour:
		return itoa(int(d/time.Hour)) + "h"
	}
	return itoa(int(d/(24*time.Hour))) + "d"
}
