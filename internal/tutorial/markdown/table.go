package markdown

import (
	"regexp"
	"strings"
)

var rule = regexp.MustCompile(`^\|[\s:|-]+\|?$`)

// tabled writes a table: in columns where it fits, otherwise one row below the other, cell by cell.
func (w *writer) tabled(lines []string) int {
	n := 0
	var rows [][]string
	for n < len(lines) && strings.HasPrefix(strings.TrimSpace(lines[n]), "|") {
		text := strings.TrimSpace(lines[n])
		if n++; !rule.MatchString(text) {
			rows = append(rows, cells(text))
		}
	}
	w.gap(false)
	widths := w.widths(rows)
	whole := 0
	for _, c := range widths {
		whole += c + 3
	}
	for i, row := range rows {
		if whole > w.o.Width {
			if mark := "  • "; i > 0 {
				w.wrap(strings.Join(row, ": "), mark, "    ")
			} else if strings.Join(row, "") != "" {
				w.wrap(strings.Join(row, ": "), "  ", "    ")
			}
			continue
		}
		var b strings.Builder
		for k, cell := range row {
			text := w.o.inline(cell)
			if i == 0 {
				text = w.o.style(bold, text)
			}
			b.WriteString("  " + text + strings.Repeat(" ", max(0, widths[k]-w.o.columns(cell))+1))
		}
		if strings.TrimSpace(b.String()) != "" {
			w.line(b.String())
		}
	}
	return n
}

func (w *writer) widths(rows [][]string) []int {
	var widths []int
	for _, row := range rows {
		for k, cell := range row {
			if k == len(widths) {
				widths = append(widths, 0)
			}
			widths[k] = max(widths[k], w.o.columns(cell))
		}
	}
	return widths
}

// cells are those of a row; a bar in code separates too, as on the web.
func cells(row string) []string {
	row = strings.TrimSuffix(strings.TrimPrefix(row, "|"), "|")
	parts := strings.Split(strings.ReplaceAll(row, `\|`, "\x00"), "|")
	for i := range parts {
		parts[i] = strings.ReplaceAll(strings.TrimSpace(parts[i]), "\x00", "|")
	}
	return parts
}
