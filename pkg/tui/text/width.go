package text

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Width is how many cells s takes, styled or not.
func Width(s string) int {
	if n, ok := quick(s); ok {
		return n
	}
	return ansi.StringWidth(s)
}

// quick is the width of what nearly all text of a screen is made of: ASCII, the lines and glyphs that are drawn with, and
// colors. Of any other it cannot tell: there are characters that are wide, and such that go with those before them.
func quick(s string) (cells int, ok bool) {
	for i := 0; i < len(s); {
		switch b := s[i]; {
		case b >= ' ' && b < 0x7f:
			cells++
			i++
		case b == 0x1b:
			n := style(s[i:])
			if n == 0 {
				return 0, false
			}
			i += n
		case b >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(s[i:])
			if !drawn(r) {
				return 0, false
			}
			cells++
			i += n
		default:
			return 0, false
		}
	}
	return cells, true
}

// style is how long the sequence is that s begins with, if that is one of a style; else 0.
func style(s string) int {
	if len(s) < 3 || s[1] != '[' {
		return 0
	}
	for i := 2; i < len(s); i++ {
		switch b := s[i]; {
		case b == 'm':
			return i + 1
		case b != ';' && (b < '0' || b > '9'):
			return 0
		}
	}
	return 0
}

// drawn tells whether r is one of the characters that the screens are drawn with: each takes a cell.
func drawn(r rune) bool {
	switch r {
	case '●', '◐', '✗', '○', '≠', '↳', '▾', '▸', '▶', '‖', '…', '·', '→', '↓', '“', '”', '×', '–':
		return true
	}
	return r >= 0x2500 && r <= 0x259f // lines and blocks
}

const blanks = "                                                                                                                                "

// blank is so many spaces.
func blank(n int) string {
	switch {
	case n <= 0:
		return ""
	case n <= len(blanks):
		return blanks[:n]
	}
	return strings.Repeat(" ", n)
}
