package text

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

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
