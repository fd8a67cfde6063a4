package tui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// put lays lines over a text, from column x and line y on.
func put(under string, lines []string, x, y int) string {
	rows := strings.Split(under, "\n")
	for i, l := range lines {
		if y+i < 0 || y+i >= len(rows) {
			continue
		}
		row := rows[y+i]
		rows[y+i] = ansi.Cut(row, 0, x) + l + ansi.Cut(row, x+ansi.StringWidth(l), ansi.StringWidth(row))
	}
	return strings.Join(rows, "\n")
}
