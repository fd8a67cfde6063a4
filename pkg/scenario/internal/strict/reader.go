package strict

import (
	"cmp"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Decoder is implemented by pointers to types that read themselves. What is wrong they report to r.
type Decoder interface {
	DecodeYAML(r *Reader, node *yaml.Node, path string)
}

// Reader collects what is wrong with a file. Make one with [NewReader]. It is for one goroutine.
type Reader struct {
	file  string
	found topology.Errors
	seen  map[string]bool
}

// NewReader returns a reader of the file of that name.
func NewReader(file string) *Reader { return &Reader{file: file, seen: map[string]bool{}} }

// File is the name of the file.
func (r *Reader) File() string { return r.file }

// Errorf reports an error of the field at path, at the place of the node. A field is reported once: its first error tends
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
	if key := fmt.Sprint(path, line, column); r.seen[key] {
		return
	} else {
		r.seen[key] = true
	}
	r.found = append(r.found, topology.Error{File: r.file, Line: line, Column: column, Path: path, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// Unknown reports a word that is none of those that there are.
func (r *Reader) Unknown(node *yaml.Node, path, what, word string, known []string) {
	r.Hint(node, path, nearest.Of(word, known), "unknown %s %q", what, word)
}

// Failed tells whether anything was reported.
func (r *Reader) Failed() bool { return len(r.found) > 0 }

// Err is all that was reported, by line, or nil.
func (r *Reader) Err() error {
	if len(r.found) == 0 {
		return nil
	}
	slices.SortStableFunc(r.found, func(a, b topology.Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return r.found
}

// Add takes over an error as it is.
func (r *Reader) Add(e topology.Error) { r.found = append(r.found, e) }
