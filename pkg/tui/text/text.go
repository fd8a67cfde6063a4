package text

import (
	"strings"
	"time"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// Width is how many cells s takes, styled or not.
func Width(s string) int { return ansi.StringWidth(s) }

// Cut shortens s to at most width cells, with an ellipsis where something is missing. Styles are kept whole.
func Cut(s string, width int) string {
	if width <= 0 {
		return ""
	}
	if len(s) <= width { // bytes are never fewer than cells
		return s
	}
	return ansi.Truncate(s, width, "…")
}

// Fit makes s exactly width cells wide.
func Fit(s string, width int) string {
	s = Cut(s, width)
	if n := width - Width(s); n > 0 {
		s += strings.Repeat(" ", n)
	}
	return s
}

// Right makes s exactly width cells wide, with the spaces before it.
func Right(s string, width int) string {
	s = Cut(s, width)
	if n := width - Width(s); n > 0 {
		s = strings.Repeat(" ", n) + s
	}
	return s
}

// Block makes lines exactly height lines of exactly width cells: what is too much is cut off, what is missing is empty.
func Block(lines []string, width, height int) string {
	var b strings.Builder
	for i := range height {
		if i > 0 {
			b.WriteByte('\n')
		}
		if i < len(lines) {
			b.WriteString(Fit(lines[i], width))
		} else {
			b.WriteString(strings.Repeat(" ", max(0, width)))
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

// Clean makes text of elsewhere (a hostname, a log line, an error) safe to print in a cell: control characters, escape
// sequences and what reverses the direction of writing become a visible stand-in, line ends and tabs a space.
func Clean(s string) string {
	ok := true
	for _, r := range s {
		if odd(r) {
			ok = false
			break
		}
	}
	if ok {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case odd(r):
			return '·'
		}
		return r
	}, ansi.Strip(s))
}

func odd(r rune) bool {
	return unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == unicode.ReplacementChar
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
