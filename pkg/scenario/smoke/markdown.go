package smoke

import (
	"strings"
	"unicode/utf8"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report"
)

// mostCell is how many characters a cell has at most: an issue is to be read.
const mostCell = 300

// markdown is a table, aligned so that it can be read as it is, too. The first row is its head; so many columns after the
// first are numbers.
func markdown(rows [][]string, numbers int) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, text := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell(text)), 3)
		}
	}
	widths[len(widths)-1] = 3 // the last one is as long as it is
	var b strings.Builder
	for n, row := range rows {
		for i, text := range row {
			text = cell(text)
			pad := strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(text)))
			if i > 0 && i <= numbers {
				text, pad = pad+text, ""
			}
			b.WriteString("| " + text + pad + " ")
		}
		b.WriteString("|\n")
		if n == 0 {
			for i, width := range widths {
				line := strings.Repeat("-", width+2)
				if i > 0 && i <= numbers {
					line = strings.Repeat("-", width+1) + ":"
				}
				b.WriteString("|" + line)
			}
			b.WriteString("|\n")
		}
	}
	return b.String()
}

// cell is a text as it can stand in a cell: on one line, not too long, and without what Markdown or HTML would take for
// their own.
func cell(text string) string {
	text = report.Line(text)
	if r := []rune(text); len(r) > mostCell {
		text = string(r[:mostCell-1]) + "…"
	}
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "`", "'", "@", "@\u200b").Replace(text)
}
