package output

import (
	"bytes"
	"io"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
)

// None stands in a cell for an empty list or an unknown value.
const None = "<none>"

// Column is one column of a table of Ts.
type Column[T any] struct {
	Header string
	// Wide columns are shown with -o wide only.
	Wide  bool
	Value func(T) string
}

// Rows writes aligned rows: three spaces between columns, no spaces at the end. It remembers the widths, so that rows
// written later stand below those written earlier; a column only ever grows. The zero value is not ready: set W.
type Rows struct {
	W      io.Writer
	widths []int
}

// Write writes rows, all of the same number of cells. An empty cell is shown as [None].
func (r *Rows) Write(rows ...[]string) error {
	for _, row := range rows {
		for i, cell := range row {
			if i == len(r.widths) {
				r.widths = append(r.widths, 0)
			}
			r.widths[i] = max(r.widths[i], text.Width(clean(cell)))
		}
	}
	var b bytes.Buffer
	for _, row := range rows {
		for i, cell := range row {
			cell = clean(cell)
			b.WriteString(cell)
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", r.widths[i]-text.Width(cell)+3))
			}
		}
		b.WriteByte('\n')
	}
	_, err := r.W.Write(b.Bytes())
	return err
}

// clean keeps a cell on its line and off the terminal's controls.
func clean(cell string) string {
	if cell == "" {
		return None
	}
	return printable.Line(cell)
}

// shown returns the columns of a format.
func shown[T any](columns []Column[T], format string) []Column[T] {
	var cs []Column[T]
	for _, c := range columns {
		if !c.Wide || format == Wide {
			cs = append(cs, c)
		}
	}
	return cs
}

func headers[T any](columns []Column[T]) []string {
	row := make([]string, len(columns))
	for i, c := range columns {
		row[i] = c.Header
	}
	return row
}

func cells[T any](columns []Column[T], item T) []string {
	row := make([]string, len(columns))
	for i, c := range columns {
		row[i] = c.Value(item)
	}
	return row
}
