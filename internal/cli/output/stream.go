package output

import (
	"encoding/json"
	"io"

	"sigs.k8s.io/yaml"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
)

// Stream prints a list that has no end: rows of one table, or with -o json one object a line, with -o yaml one document
// each.
type Stream[T any] struct {
	w       io.Writer
	flags   Flags
	kind    Kind[T]
	rows    Rows
	columns []Column[T]
	headed  bool
}

// NewStream returns a stream that has printed nothing.
func NewStream[T any](w io.Writer, f Flags, kind Kind[T]) *Stream[T] {
	return &Stream[T]{w: w, flags: f, kind: kind, rows: Rows{W: w}, columns: shown(kind.Columns, f.Format), headed: f.NoHeaders}
}

// Print prints the next items.
func (s *Stream[T]) Print(items ...T) error {
	var rows [][]string
	for _, item := range items {
		text, table, err := s.text(item)
		if err != nil {
			return err
		}
		if table {
			rows = append(rows, cells(s.columns, item))
		} else if _, err := io.WriteString(s.w, text); err != nil {
			return err
		}
	}
	if len(rows) == 0 {
		return nil
	}
	if !s.headed {
		rows = append([][]string{headers(s.columns)}, rows...)
		s.headed = true
	}
	return s.rows.Write(rows...)
}

// text returns what an item looks like where it is not a row of a table.
func (s *Stream[T]) text(item T) (text string, table bool, err error) {
	switch s.flags.Format {
	case JSON:
		b, err := json.Marshal(item)
		return string(b) + "\n", false, err
	case YAML:
		b, err := yaml.Marshal(item)
		return "---\n" + string(b), false, err
	case Names:
		return printable.Line(s.kind.Ref(item)) + "\n", false, nil
	}
	return "", true, nil
}
