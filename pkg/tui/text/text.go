package text

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
)

// Cut shortens s to at most width cells, with an ellipsis for the rest. Styles stay complete.
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

// Fit returns s with exactly width cells.
func Fit(s string, width int) string {
	s, n := cut(s, width)
	if n < width {
		return s + blank(width-n)
	}
	return s
}

// Right returns s right-aligned in exactly width cells.
func Right(s string, width int) string {
	s, n := cut(s, width)
	if n < width {
		return blank(width-n) + s
	}
	return s
}

// Block returns exactly height lines of exactly width cells, cut off or padded.
func Block(lines []string, width, height int) string {
	fitted := make([]string, 0, max(0, height))
	for i := 0; i < len(lines) && i < height; i++ {
		fitted = append(fitted, Fit(lines[i], width))
	}
	return Stack(fitted, width, height)
}

// Stack is [Block] for lines of exactly width cells: it does not measure them again.
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

// Wrap breaks s into lines of at most width cells, at spaces if possible.
func Wrap(s string, width int) []string {
	if width <= 0 {
		return nil
	}
	return strings.Split(ansi.Wrap(s, width, ""), "\n")
}

// Clean makes foreign text (a hostname, a log line, an error) safe for a cell: it drops escape sequences, replaces invalid bytes,
// and treats the rest as package printable does.
func Clean(s string) string {
	if isASCII(s) {
		return s
	}
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "·"), "\ufffd", "·") // invalid bytes that were converted before
	return printable.Line(ansi.Strip(s))
}

// Ago formats a duration as kubectl's AGE column, with tenths below ten seconds: 0.4s, 12s, 5m, 3h, 2d.
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

// Agent returns the name in a User-Agent, without version and comments: govc of "govc/0.56.0 (linux)"; "(unnamed)" if it has
// none.
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

// Count formats a number with thousands separators: 65,536.
func Count(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Method shortens the name of a vCenter method. Of a REST call it keeps the end of the path and the action: "POST tag-association
// list-attached-tags" of "POST /rest/com/vmware/cis/tagging/tag-association?~action=list-attached-tags".
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

// trimUnit formats seconds, without ".0".
func trimUnit(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"
}

// Took formats a duration in its shortest unit: 85µs, 12ms, 1.4s, 2m05s.
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

// Bytes formats a size as Kubernetes does: 512Mi, 1Gi, 1.5Gi.
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

// Width returns the number of cells of s, styled or not.
func Width(s string) int {
	if n, ok := quick(s); ok {
		return n
	}
	return ansi.StringWidth(s)
}

// quick returns the width of text of ASCII, line drawing characters and colors, which is nearly all text of a screen. It fails
// for other text, which may have wide and combining characters.
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

// style returns the length of the style sequence at the beginning of s, or 0.
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

// drawn reports whether r is a line drawing character or glyph of the screens: each takes a cell.
func drawn(r rune) bool {
	switch r {
	case '●', '◐', '✗', '○', '≠', '↳', '▾', '▸', '▶', '‖', '…', '·', '→', '↓', '“', '”', '×', '–':
		return true
	}
	return r >= 0x2500 && r <= 0x259f // lines and blocks
}

const blanks = "                                                                                                                                "

// blank returns spaces.
func blank(n int) string {
	switch {
	case n <= 0:
		return ""
	case n <= len(blanks):
		return blanks[:n]
	}
	return strings.Repeat(" ", n)
}

// Words breaks plain text into lines of at most width cells at spaces only, unlike [Wrap], which also breaks at hyphens: names of
// nodes, faults and flags have some. It splits a word that is longer than a line. It returns at least one line, unless width is
// 0.
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
		for n > width { // the line is empty here
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

// Edit is a line of text with a cursor, edited with the keys of readline. It keeps every rune as it is; [Clean] it to show it.
// bubbles/textinput replaces control characters, so that it could not hold the name of any object.
type Edit struct {
	Runes []rune
	At    int // the cursor is before this rune
}

// String returns the line.
func (e *Edit) String() string { return string(e.Runes) }

// Set replaces the line, with the cursor at its end.
func (e *Edit) Set(s string) { e.Runes, e.At = []rune(s), len([]rune(s)) }

// AtEnd reports whether the cursor is at the end.
func (e *Edit) AtEnd() bool { return e.At == len(e.Runes) }

// Insert inserts text before the cursor.
func (e *Edit) Insert(s string) {
	e.Runes = slices.Insert(e.Runes, e.At, []rune(s)...)
	e.At += len([]rune(s))
}

// Cut removes a range of runes, and leaves the cursor there.
func (e *Edit) Cut(from, to int) {
	e.Runes = slices.Delete(e.Runes, from, to)
	e.At = from
}

// left returns the beginning of the word before the cursor, right the end of the word after it.
func (e *Edit) left() int {
	i := e.At
	for i > 0 && unicode.IsSpace(e.Runes[i-1]) {
		i--
	}
	for i > 0 && !unicode.IsSpace(e.Runes[i-1]) {
		i--
	}
	return i
}

func (e *Edit) right() int {
	i := e.At
	for i < len(e.Runes) && unicode.IsSpace(e.Runes[i]) {
		i++
	}
	for i < len(e.Runes) && !unicode.IsSpace(e.Runes[i]) {
		i++
	}
	return i
}

// Key edits the line as readline does, and reports whether it knows the key.
func (e *Edit) Key(name string) bool {
	switch name {
	case "left", "ctrl+b":
		e.At = max(0, e.At-1)
	case "right", "ctrl+f":
		e.At = min(len(e.Runes), e.At+1)
	case "home", "ctrl+a":
		e.At = 0
	case "end", "ctrl+e":
		e.At = len(e.Runes)
	case "alt+left", "ctrl+left", "alt+b":
		e.At = e.left()
	case "alt+right", "ctrl+right", "alt+f":
		e.At = e.right()
	case "backspace", "ctrl+h", "shift+backspace":
		e.Cut(max(0, e.At-1), e.At)
	case "delete", "ctrl+d":
		e.Cut(e.At, min(len(e.Runes), e.At+1))
	case "ctrl+w", "alt+backspace":
		e.Cut(e.left(), e.At)
	case "alt+d":
		e.Cut(e.At, e.right())
	case "ctrl+u":
		e.Cut(0, e.At)
	case "ctrl+k":
		e.Cut(e.At, len(e.Runes))
	default:
		return false
	}
	return true
}
