package table

import (
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// Column is one column.
type Column struct {
	Title string
	// Width is in cells, without the following space. For a Flex column it is the minimum.
	Width int
	// Flex columns share the remaining width in proportion.
	Flex int
	// Right aligns the cells to the right.
	Right bool
	// Drop is the order in which columns give way in a narrow table: the highest first, 0 never.
	Drop int
}

// Cell is one cell: a text in a style. The zero value is empty.
type Cell struct {
	// Text is clean: see [text.Clean]. It has no style.
	Text  string
	Style theme.Style
}

// Marked returns the cell with the mark of a change before it, or the space for one.
func (c Cell) Marked(changed bool, th *theme.Theme) Cell {
	if !changed {
		c.Text = " " + c.Text
		return c
	}
	c.Text, c.Style = theme.GlyphChanged+c.Text, c.Style.Inherit(th.Changed)
	return c
}

// Row is one row of a [Table].
type Row struct {
	// Key identifies the row, also after it has moved: the cursor stays with it.
	Key string
	// Cells returns the cells, one per column, including dropped columns. It is called only for visible rows.
	Cells func() []Cell
	// Fixed rows are headings: the cursor skips them.
	Fixed bool
}

// Table is a table with a cursor. The zero value is empty. It is for one goroutine.
type Table struct {
	columns       []Column
	rows          []Row
	width, height int
	cursor, top   int
	theme         *theme.Theme
	// Blurred tables show no cursor.
	Blurred bool
	// Empty is the text without rows.
	Empty string
}

// SetTheme sets the colors.
func (t *Table) SetTheme(th *theme.Theme) { t.theme = th }

// SetColumns sets the columns.
func (t *Table) SetColumns(columns []Column) { t.columns = columns }

// SetSize sets the size; the height includes the header.
func (t *Table) SetSize(width, height int) { t.width, t.height = width, height; t.show() }

// SetRows replaces the rows. The cursor stays on its key, or on its place if the key is gone.
func (t *Table) SetRows(rows []Row) {
	key, had := t.Key()
	t.rows = rows
	if had {
		for i := range rows {
			if rows[i].Key == key && !rows[i].Fixed {
				t.cursor = i
				t.show()
				return
			}
		}
	}
	t.cursor = min(t.cursor, len(rows)-1)
	t.settle(1)
}

// Key returns the key of the row with the cursor; ok is false without rows.
func (t *Table) Key() (key string, ok bool) {
	if t.cursor < 0 || t.cursor >= len(t.rows) || t.rows[t.cursor].Fixed {
		return "", false
	}
	return t.rows[t.cursor].Key, true
}

// Choose moves the cursor to a key, and reports whether the key exists.
func (t *Table) Choose(key string) bool {
	for i := range t.rows {
		if t.rows[i].Key == key && !t.rows[i].Fixed {
			t.cursor = i
			t.show()
			return true
		}
	}
	return false
}

// Len returns the number of rows.
func (t *Table) Len() int { return len(t.rows) }

// Move moves the cursor by rows; it stops at the ends.
func (t *Table) Move(by int) {
	t.cursor = min(max(0, t.cursor+by), len(t.rows)-1)
	if by < 0 {
		t.settle(-1)
	} else {
		t.settle(1)
	}
}

// Page returns the number of visible rows.
func (t *Table) Page() int { return max(1, t.height-1) }

// End reports whether the cursor is on the last row.
func (t *Table) End() bool { return t.cursor >= len(t.rows)-1 }

// Click moves the cursor to the row in line y, header included, and reports whether there is one.
func (t *Table) Click(y int) bool {
	i := t.top + y - 1
	if y < 1 || i >= len(t.rows) || t.rows[i].Fixed {
		return false
	}
	t.cursor = i
	return true
}

// settle moves the cursor off headings, in a direction if possible.
func (t *Table) settle(by int) {
	for _, step := range []int{by, -by} {
		for i := t.cursor; i >= 0 && i < len(t.rows); i += step {
			if !t.rows[i].Fixed {
				t.cursor = i
				t.show()
				return
			}
		}
	}
	t.cursor = max(0, t.cursor)
	t.show()
}

// show scrolls to the cursor, with the headings right above it.
func (t *Table) show() {
	page := t.Page()
	first := t.cursor
	for first > 0 && first <= len(t.rows)-1 && t.rows[first-1].Fixed && t.cursor-first < page-2 {
		first--
	}
	t.top = min(t.top, max(0, first))
	t.top = max(t.top, t.cursor-page+1, 0)
	t.top = min(t.top, max(0, len(t.rows)-page))
}

// View returns the table, exactly of its size.
func (t *Table) View() string {
	if t.width <= 0 || t.height <= 0 {
		return ""
	}
	columns, widths := t.fit()
	lines := make([]string, 0, t.height)
	var b strings.Builder
	for i, c := range columns {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(align(t.columns[c].Title, widths[i], t.columns[c].Right))
	}
	lines = append(lines, t.theme.Header.Render(text.Fit(b.String(), t.width)))
	if len(t.rows) == 0 && t.Empty != "" {
		for _, l := range text.Wrap(t.Empty, t.width) {
			lines = append(lines, t.theme.Dim.Render(text.Fit(l, t.width)))
		}
	}
	for i := t.top; i < len(t.rows) && len(lines) < t.height; i++ {
		lines = append(lines, t.line(i, columns, widths))
	}
	return text.Stack(lines, t.width, t.height)
}

// line returns a visible row, as wide as the table.
func (t *Table) line(i int, columns, widths []int) string {
	cells := t.rows[i].Cells()
	selected := i == t.cursor && !t.Blurred && !t.rows[i].Fixed
	var b strings.Builder
	used := 0
	for n, c := range columns {
		if n > 0 {
			b.WriteString(t.pad(" ", selected))
			used++
		}
		var cell Cell
		if c < len(cells) {
			cell = cells[c]
		}
		fitted := align(cell.Text, widths[n], t.columns[c].Right)
		used += widths[n]
		switch {
		case selected:
			b.WriteString(t.theme.Selected.Inherit(cell.Style).Render(fitted))
		case cell.Text == "":
			b.WriteString(fitted)
		default:
			b.WriteString(cell.Style.Render(fitted))
		}
	}
	if used < t.width {
		b.WriteString(t.pad(text.Fit("", t.width-used), selected))
	} else if used > t.width {
		return text.Fit(b.String(), t.width)
	}
	return b.String()
}

func (t *Table) pad(s string, selected bool) string {
	if selected {
		return t.theme.Selected.Render(s)
	}
	return s
}

func align(s string, width int, right bool) string {
	if right {
		return text.Right(s, width)
	}
	return text.Fit(s, width)
}

// fit returns the columns that fit, with their widths.
func (t *Table) fit() (columns, widths []int) {
	for i := range t.columns {
		columns = append(columns, i)
	}
	for t.least(columns) > t.width {
		worst := -1
		for n, c := range columns {
			if d := t.columns[c].Drop; d > 0 && (worst < 0 || d > t.columns[columns[worst]].Drop) {
				worst = n
			}
		}
		if worst < 0 {
			break
		}
		columns = append(columns[:worst:worst], columns[worst+1:]...)
	}
	spare, flex := t.width-t.least(columns), 0
	for _, c := range columns {
		flex += t.columns[c].Flex
	}
	for _, c := range columns {
		w := t.columns[c].Width
		if f := t.columns[c].Flex; f > 0 && spare > 0 {
			share := spare * f / flex
			w, spare, flex = w+share, spare-share, flex-f
		}
		widths = append(widths, w)
	}
	return columns, widths
}

// least returns the minimum width of some columns.
func (t *Table) least(columns []int) int {
	n := max(0, len(columns)-1)
	for _, c := range columns {
		n += t.columns[c].Width
	}
	return n
}
