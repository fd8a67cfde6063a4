package output

import (
	"fmt"
	"io"
	"slices"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
)

// Watch prints items again when they change, as a [Stream] does.
type Watch[T any] struct {
	stream *Stream[T]
	seen   map[string]string // by key, what it looked like
}

// NewWatch returns a watch that has shown nothing.
func NewWatch[T any](w io.Writer, f Flags, kind Kind[T]) *Watch[T] {
	return &Watch[T]{NewStream(w, f, kind), map[string]string{}}
}

// Show prints those of items that look new or different since the last call, and in a table says which are gone;
// programs see that from the events.
func (w *Watch[T]) Show(items []T) error {
	var changed []T
	here := map[string]bool{}
	for _, item := range items {
		key := w.stream.kind.key(item)
		here[key] = true
		look, table, err := w.stream.text(item)
		if err != nil {
			return err
		}
		if table {
			look = fmt.Sprintf("%q", cells(w.stream.columns, item))
		}
		if w.seen[key] != look {
			w.seen[key] = look
			changed = append(changed, item)
		}
	}
	if err := w.stream.Print(changed...); err != nil {
		return err
	}
	var gone []string
	for key := range w.seen {
		if !here[key] {
			gone = append(gone, key)
			delete(w.seen, key)
		}
	}
	slices.Sort(gone)
	for _, key := range gone {
		if f := w.stream.flags.Format; f == JSON || f == YAML || f == Names {
			break
		}
		if _, err := fmt.Fprintln(w.stream.w, printable.Line(key)+" is gone"); err != nil {
			return err
		}
	}
	return nil
}
