package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/yaml"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
)

// The formats.
const (
	Text  = ""      // the command's default output
	Plain = "table" // a table
	Wide  = "wide"  // a table with more columns
	JSON  = "json"
	YAML  = "yaml"
	Names = "name" // kind/name, one a line
)

// Flags are the flags that choose the format. The zero value prints tables with headers.
type Flags struct {
	Format    string
	NoHeaders bool
}

// Bind adds -o to a command that prints a table.
func (f *Flags) Bind(cmd *cobra.Command) {
	f.Format = Plain
	bind(cmd, &f.Format, Plain, Wide, JSON, YAML, Names)
	cmd.Flags().BoolVar(&f.NoHeaders, "no-headers", false, "do not print table headers")
}

// BindFormat adds -o to a command whose default output is its own text; formats are the others.
func BindFormat(cmd *cobra.Command, format *string, formats ...string) { bind(cmd, format, formats...) }

func bind(cmd *cobra.Command, format *string, formats ...string) {
	if *format == Text && !slices.Contains(formats, Plain) {
		formats = append([]string{Plain}, formats...) // the same word everywhere for what people read
	}
	cmd.Flags().VarP(&choice{format, formats, *format == Text}, "output", "o", "output format: "+strings.Join(formats, ", "))
	// Cannot fail: the flag was added in the line above.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}

// choice is a flag that takes one of several words.
type choice struct {
	value   *string
	choices []string
	text    bool // table stands for the command's own text
}

func (c *choice) String() string { return *c.value }
func (c *choice) Type() string   { return "format" }

func (c *choice) Set(s string) error {
	if slices.Contains(c.choices, s) {
		*c.value = s
		if s == Plain && c.text {
			*c.value = Text
		}
		return nil
	}
	try := "-o " + strings.Join(c.choices, "|")
	if guess := nearest.Of(s, c.choices); guess != "" {
		try = "-o " + guess
	}
	return report.UsageError(try, "unknown output format %q", s)
}

// APIVersion is the version of everything that is printed for programs.
const APIVersion = "sandbox.vsphere/v1alpha1"

// Kind describes how a kind of object is printed.
type Kind[T any] struct {
	// Name is the kind as programs get it: "Node".
	Name string
	// Columns are those of the table.
	Columns []Column[T]
	// Ref is what -o name prints: "node/worker-1".
	Ref func(T) string
	// Key identifies an item where references may repeat; nil means Ref.
	Key func(T) string
}

func (k Kind[T]) key(item T) string {
	if k.Key != nil {
		return k.Key(item)
	}
	return k.Ref(item)
}

type list[T any] struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Items      []T    `json:"items"`
}

// List prints items in the format that f asks for. An empty table is nothing: the caller says so, where people read.
func List[T any](w io.Writer, f Flags, kind Kind[T], items []T) error {
	switch f.Format {
	case JSON, YAML:
		if items == nil {
			items = []T{}
		}
		return Encode(w, f.Format, list[T]{APIVersion, kind.Name + "List", items})
	case Names:
		var b strings.Builder
		for _, item := range items {
			b.WriteString(printable.Line(kind.Ref(item)) + "\n")
		}
		_, err := io.WriteString(w, b.String())
		return err
	}
	if len(items) == 0 {
		return nil
	}
	columns := shown(kind.Columns, f.Format)
	var rows [][]string
	if !f.NoHeaders {
		rows = append(rows, headers(columns))
	}
	for _, item := range items {
		rows = append(rows, cells(columns, item))
	}
	if last := len(columns) - 1; f.Format != Wide && last >= 0 && columns[last].Cut {
		cut(rows)
	}
	return (&Rows{W: w}).Write(rows...)
}

// Object prints one answer as JSON or YAML. v must become a JSON object; its fields come after apiVersion and kind.
func Object(w io.Writer, format, kind string, v any) error {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	body := bytes.TrimSpace(buf.Bytes())
	head := fmt.Sprintf(`{"apiVersion":%q,"kind":%q`, APIVersion, kind)
	if len(body) > len("{}") {
		head += ","
	}
	return Encode(w, format, json.RawMessage(head+string(body[1:])))
}

// Encode prints v as it is, as JSON or YAML.
func Encode(w io.Writer, format string, v any) error {
	if format == YAML {
		b, err := yaml.Marshal(v)
		if err != nil {
			return err
		}
		_, err = w.Write(b)
		return err
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// Document writes a document in a format; write writes it as JSON.
func Document(w io.Writer, format string, write func(io.Writer) error) error {
	if format == JSON {
		return write(w)
	}
	var document bytes.Buffer
	if err := write(&document); err != nil {
		return err
	}
	text, err := yaml.JSONToYAML(document.Bytes())
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// None stands in a cell for an empty list or an unknown value.
const None = "<none>"

// Column is one column of a table of Ts.
type Column[T any] struct {
	Header string
	// Wide columns are shown with -o wide only, Narrow ones without it only: a short form of a wide column.
	Wide, Narrow bool
	// Cut shortens the cells of the last column to the room that a line of [Width] has. With -o wide they are whole.
	Cut   bool
	Value func(T) string
}

// Width is the number of columns that a table fits into without -o wide.
const Width = 100

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

// cut shortens the last cells of rows to the room beside the others.
func cut(rows [][]string) {
	const least = 20
	room := Width
	for i := range len(rows[0]) - 1 {
		widest := 0
		for _, row := range rows {
			widest = max(widest, text.Width(clean(row[i])))
		}
		room -= widest + 3
	}
	for _, row := range rows {
		last := len(row) - 1
		row[last] = text.Cut(clean(row[last]), max(least, room))
	}
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
		if !c.Wide && (!c.Narrow || format != Wide) || c.Wide && format == Wide {
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

// Age is the time since t as kubectl writes it, "" for the zero time.
func Age(now, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return duration.HumanDuration(max(0, now.Sub(t)))
}

// Join writes a list in one cell.
func Join(list []string) string { return strings.Join(list, ",") }

// YesNo writes a truth in one cell.
func YesNo(b bool) string { return strconv.FormatBool(b) }

// Bytes writes a size in binary units: 16Gi.
func Bytes(n int64) string {
	for _, u := range []struct {
		shift uint
		name  string
	}{{40, "Ti"}, {30, "Gi"}, {20, "Mi"}, {10, "Ki"}} {
		if unit := int64(1) << u.shift; n >= unit {
			if n%unit == 0 {
				return fmt.Sprintf("%d%s", n/unit, u.name)
			}
			return fmt.Sprintf("%.1f%s", float64(n)/float64(unit), u.name)
		}
	}
	return strconv.FormatInt(n, 10)
}

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
