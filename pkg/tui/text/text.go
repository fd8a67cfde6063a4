package text

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
)

// Cut shortens s to at most width cells, with an ellipsis where something is missing. Styles are kept whole.
func Cut(s string, width int) string {
	s, _ = cut(s, width)
	return s
}

// cut also returns the resulting width.
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

// isASCII reports whether s is printable ASCII alone.
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

// Agent is the name in a User-Agent, without version and comments: govc of "govc/0.56.0 (linux)". One that says nothing
// is "(unnamed)".
func Agent(userAgent string) string {
	name := Clean(strings.TrimSpace(userAgent))
	if i := strings.IndexAny(name, "/ ;("); i >= 0 {
		name = name[:i]
	}
	if name == "" {
		return "(unnamed)"
	}
	return name
}

// Count writes a number with separators of thousands: 65,536.
func Count(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Method makes the name of a method of a vCenter short: of a REST call only the last of its path, and what is done to it:
// "POST tag-association list-attached-tags" of "POST /rest/com/vmware/cis/tagging/tag-association?~action=list-attached-tags".
func Method(name string) string {
	name = Clean(name)
	verb, path, ok := strings.Cut(name, " /")
	if !ok {
		return name
	}
	path, query, _ := strings.Cut(path, "?")
	path = strings.TrimSuffix(path, "/")
	at := strings.LastIndexByte(path, '/') + 1
	if strings.HasPrefix(path[at:], "{") && at > 0 {
		at = strings.LastIndexByte(path[:at-1], '/') + 1
	}
	path = path[at:]
	if _, action, ok := strings.Cut(query, "action="); ok {
		path += " " + action
	}
	return verb + " " + path
}

func itoa(n int) string { return strconv.Itoa(n) }

// trimUnit writes seconds, without ".0".
func trimUnit(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"
}

// Took writes how long something took, in the unit that makes it short: 85µs, 12ms, 1.4s, 2m05s.
func Took(d time.Duration) string {
	switch d = max(0, d); {
	case d == 0:
		return "0"
	case d < time.Millisecond:
		return itoa(int(d/time.Microsecond)) + "µs"
	case d < time.Second:
		return itoa(int(d/time.Millisecond)) + "ms"
	case d < time.Minute:
		return trimUnit(d.Truncate(100 * time.Millisecond))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// Bytes writes a size as Kubernetes does: 512Mi, 1Gi, 1.5Gi.
func Bytes(n int64) string {
	const units = "KMGTP"
	v, unit := float64(n), -1
	for v >= 1024 && unit < len(units)-1 {
		v, unit = v/1024, unit+1
	}
	if unit < 0 {
		return strconv.FormatInt(n, 10)
	}
	return strconv.FormatFloat(float64(int(v*10+0.5))/10, 'f', -1, 64) + string(units[unit]) + "i"
}

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

// drawn reports whether r is one of the characters that the screens are drawn with: each takes a cell.
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

// Words breaks plain text into lines of at most width cells at spaces alone, unlike [Wrap], which breaks at hyphens, too:
// names of nodes, faults and flags have some. A word that is longer than a line is cut into pieces. There is always a
// line, unless there is no width.
func Words(s string, width int) []string {
	if width <= 0 {
		return nil
	}
	var lines []string
	line, used := "", 0
	for word := range strings.FieldsSeq(s) {
		n := Width(word)
		if used > 0 && used+1+n > width {
			lines = append(lines, line)
			line, used = "", 0
		}
		if used > 0 {
			line, used = line+" ", used+1
		}
		for n > width { // then the line is empty
			piece := ansi.Truncate(word, width, "")
			if piece == "" { // a wide character in a single cell
				piece = word
			}
			lines = append(lines, piece)
			word = strings.TrimPrefix(word, piece)
			n = Width(word)
		}
		line, used = line+word, used+n
	}
	if used > 0 || len(lines) == 0 {
		lines = append(lines, line)
	}
	return lines
}

// Found reports whether all words of a filter are in the texts, in any case.
func Found(filter string, texts ...string) bool {
	all := strings.ToLower(strings.Join(texts, " "))
	for word := range strings.FieldsSeq(strings.ToLower(filter)) {
		if !strings.Contains(all, word) {
			return false
		}
	}
	return true
}
