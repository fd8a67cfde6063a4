package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
)

// APIVersion is the version of everything that is printed for programs.
const APIVersion = "sandbox.vsphere/v1alpha1"

// Kind tells how a kind of thing is printed.
type Kind[T any] struct {
	// Name is the kind as programs get it: "Node".
	Name string
	// Columns are those of the table.
	Columns []Column[T]
	// Ref is what -o name prints: "node/worker-1".
	Ref func(T) string
	// Key tells one item from another where references may repeat; nil means Ref.
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
