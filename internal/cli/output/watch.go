package output

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"sigs.k8s.io/yaml"
)

// Watch prints items again when they change: rows below one table, or with -o json one object a line, with -o yaml one
// document each.
type Watch[T any] struct {
	w       io.Writer
	flags   Flags
	kind    Kind[T]
	rows    Rows
	columns []Column[T]
	seen    map[string]string // by key, as printed last
	headed  bool
}

// NewWatch returns a watch that has shown nothing.
func NewWatch[T any](w io.Writer, f Flags, kind Kind[T]) *Watch[T] {
	return &Watch[T]{
		w: w, flags: f, kind: kind, rows: Rows{W: w}, columns: shown(kind.Columns, f.Format), seen: map[string]string{},
		headed: f.NoHeaders,
	}
}

// Show prints those of items that are new or changed since the last call, and says which are gone.
func (w *Watch[T]) Show(items []T) error {
	var rows [][]string
	here := map[string]bool{}
	for _, item := range items {
		key := w.kind.key(item)
		here[key] = true
		row, text, err := w.render(item)
		if err != nil {
			return err
		}
		if w.seen[key] == text {
			continue
		}
		w.seen[key] = text
		if row != nil {
			rows = append(rows, row)
		} else if _, err := io.WriteString(w.w, text); err != nil {
			return err
		}
	}
	var gone []string
	for key := range w.seen {
		if !here[key] {
			gone = append(gone, key)
			delete(w.seen, key)
		}
	}
	slices.Sort(gone)
	return w.print(rows, gone)
}

// render returns how an item looks: a row of a table, or text.
func (w *Watch[T]) render(item T) (row []string, text string, err error) {
	switch w.flags.Format {
	case JSON:
		b, err := json.Marshal(item)
		return nil, string(b) + "\n", err
	case YAML:
		b, err := yaml.Marshal(item)
		return nil, "---\n" + string(b), err
	case Names:
		return nil, w.kind.Ref(item) + "\n", nil
	}
	row = cells(w.columns, item)
	return row, fmt.Sprintf("%q", row), nil
}

func (w *Watch[T]) print(rows [][]string, gone []string) error {
	if len(rows) > 0 {
		if !w.headed {
			rows = slices.Insert(rows, 0, headers(w.columns))
			w.headed = true
		}
		if err := w.rows.Write(rows...); err != nil {
			return err
		}
	}
	if w.flags.Format != Plain && w.flags.Format != Wide {
		return nil // programs see what is gone from the events
	}
	for _, key := range gone {
		if _, err := fmt.Fprintln(w.w, key+" is gone"); err != nil {
			return err
		}
	}
	return nil
}
