package report

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxLine is how many bytes a line of an error may have. What is in files, and becomes part of errors, may be of any length.
const MaxLine = 2000

// cutLines cuts the lines of a text that are too long.
func cutLines(text string) string {
	if len(text) <= MaxLine {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = cut(line)
	}
	return strings.Join(lines, "\n")
}

// cut takes the middle out of a line that is too long, and says how long it was. The end stays, which often is the reason.
func cut(line string) string {
	if len(line) <= MaxLine {
		return line
	}
	note := fmt.Sprintf(" […%d bytes in all…] ", len(line))
	head := (MaxLine - len(note)) * 2 / 3
	tail := len(line) - (MaxLine - len(note) - head)
	for head > 0 && !utf8.RuneStart(line[head]) {
		head--
	}
	for tail < len(line) && !utf8.RuneStart(line[tail]) {
		tail++
	}
	return line[:head] + note + line[tail:]
}
