package strict

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
)

// Language is what is read.
type Language struct {
	// Noun is what messages call a file, such as topology. APIVersion and Kind are what one begins with.
	Noun, APIVersion, Kind string
	// Size is how many bytes a file may have, and how many substitution may make.
	Size int
	// Items is how many list items a file may have in all; 0 for any number.
	Items int
	// Scalar, if not nil, reads a node, which is not null, into a field of a scalar type. Tag is the field's, empty for the
	// items of a list that has none.
	Scalar func(r *Reader, node *yaml.Node, into reflect.Value, tag reflect.StructTag, path string)
	// Line, if not nil, describes a line for a message at another one.
	Line func(line, at int) string
}

// Decoder is implemented by pointers to types that read themselves. What is wrong they report to r.
type Decoder interface {
	DecodeYAML(r *Reader, node *yaml.Node, path string)
}

// Reader collects what is wrong with a file. Make one with [NewReader]. It is for one goroutine.
type Reader struct {
	// Base is added to the lines of what is parsed next, so that the lines of several files differ.
	Base int

	lang     Language
	file     string
	found    Errors
	reported map[string]bool // paths, and places at paths
	types    Types
	root     reflect.Type // of the whole file
	items    int
	guesses  int // how many names hints may still be looked up among, which bounds the time that a hopeless file takes
	room     int // how many bytes substitution may still make
}

// NewReader returns a reader of the file of that name.
func NewReader(file string, lang Language) *Reader {
	return &Reader{file: file, lang: lang, reported: map[string]bool{}, types: Types{}, guesses: 200_000, room: lang.Size}
}

// File is the name of the file.
func (r *Reader) File() string { return r.file }

// Errorf reports an error of the field at path, at the place of the node. A place is reported once: its first error tends
// to explain the others.
func (r *Reader) Errorf(node *yaml.Node, path, format string, args ...any) {
	r.Hint(node, path, "", format, args...)
}

// Hint is [Reader.Errorf] with what was probably meant.
func (r *Reader) Hint(node *yaml.Node, path, hint, format string, args ...any) {
	line, column := 1, 1
	if node != nil {
		line, column = max(node.Line, 1), max(node.Column, 1)
	}
	place := fmt.Sprint(path, "\n", line, ":", column)
	if r.reported[place] || node != nil && r.reported[position(node)] {
		return
	}
	r.reported[place], r.reported[path] = true, true
	r.Add(Error{Line: line, Column: column, Path: path, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// position is the key in reported of a node whose other errors are not reported.
func position(node *yaml.Node) string { return fmt.Sprint("\n", node.Line, ":", node.Column) }

// Unknown reports a word that is none of those that there are.
func (r *Reader) Unknown(node *yaml.Node, path, what, word string, known []string) {
	r.Hint(node, path, r.Nearest(word, known), "unknown %s %s", what, Shown(word))
}

// Nearest returns the candidate that name is probably a misspelling of, or "".
func (r *Reader) Nearest(name string, candidates []string) string {
	if !r.Afford(len(candidates)) {
		return ""
	}
	return nearest.Of(name, candidates)
}

// Afford reports whether a hint may be looked up among that many names.
func (r *Reader) Afford(names int) bool {
	r.guesses -= names + 1
	return r.guesses >= 0
}

// Add takes over an error as it is; one without a file is of the reader's. The field does not count as reported.
func (r *Reader) Add(e Error) {
	if e.File == "" {
		e.File = r.file
	}
	r.found = append(r.found, e)
}

// Reported reports whether the field at path has an error.
func (r *Reader) Reported(path string) bool { return r.reported[path] }

// Len is how many errors were reported.
func (r *Reader) Len() int { return len(r.found) }

// Failed reports whether there is an error.
func (r *Reader) Failed() bool { return len(r.found) > 0 }

// Err is all that was reported, by line, or nil.
func (r *Reader) Err() error {
	if len(r.found) == 0 {
		return nil
	}
	r.found.sort()
	return r.found
}

// line describes a line for a message at another one.
func (r *Reader) line(line, at int) string {
	if r.lang.Line != nil {
		return r.lang.Line(line, at)
	}
	return strconv.Itoa(line)
}

// maxShown is how many errors Errors.Error spells out: enough to work through, few enough not to scroll away.
const maxShown = 40

// Error is one thing that is wrong with a file.
type Error struct {
	// File is the name of the file, or of one that it includes. Line and Column count from 1.
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	// Path is the field, such as spec.vcenters[0].name; empty where the file as a whole is meant.
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
	// Hint is the name or value that was probably meant; often empty.
	Hint string `json:"hint,omitempty"`
}

// Error is the whole story on one line, in the form editors jump to.
func (e Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d:%d: ", e.File, e.Line, e.Column)
	if e.Path != "" {
		b.WriteString(e.Path + ": ")
	}
	b.WriteString(e.Message)
	if e.Hint != "" {
		fmt.Fprintf(&b, " (did you mean %q?)", e.Hint)
	}
	return b.String()
}

// Errors is everything that is wrong with a file, sorted by position, the file itself before those that it includes. It is
// never empty; reach the parts with errors.As.
type Errors []Error

// Error lists the errors, one on each line. Past forty it says how many more there are.
func (e Errors) Error() string {
	var b strings.Builder
	for i, one := range e[:min(len(e), maxShown)] {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(one.Error())
	}
	if more := len(e) - maxShown; more > 0 {
		fmt.Fprintf(&b, "\nand %d more", more)
	}
	return b.String()
}

// Unwrap gives the errors one by one, for errors.Is and errors.As.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, one := range e {
		all[i] = one
	}
	return all
}

func (e Errors) sort() {
	slices.SortStableFunc(e, func(a, b Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Path, b.Path))
	})
}
