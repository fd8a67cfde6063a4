// Package shorten shortens text for messages.
//
// Floor 0.
package shorten

import (
	"fmt"
	"strconv"
	"strings"
)

// FirstLine returns the first line that is not blank, without the space around it.
func FirstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(line)
}

// LastLines returns the last lines, at most so many.
func LastLines(text string, most int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(strings.Join(lines[max(0, len(lines)-most):], "\n"))
}

// List joins the first names, at most so many, and counts the rest: "a, b and 3 more".
func List(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// Count is a number of things: "1 host", "3 hosts".
func Count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}
