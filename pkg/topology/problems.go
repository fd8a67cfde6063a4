package topology

import (
	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
)

// MaxSize is the maximum size of a topology file in bytes: enough for more than ten thousand VMs without replicas.
const MaxSize = input.MaxFile

// problems collects the problems of one topology. It reports a field once: the first error tends to explain others, and the
// replicas of a group share their fields.
type problems struct {
	*strict.Reader
	// sources are the files of root, for line numbers.
	sources sources
	root    *yaml.Node
}

func newProblems(file string) *problems {
	p := &problems{sources: sources{{name: file}}}
	p.Reader = strict.NewReader(file, strict.Language{
		Noun: "topology", APIVersion: APIVersion, Kind: Kind, Size: MaxSize, Items: maxItems, Scalar: scalar,
		Line: func(line, at int) string { return p.sources.describe(line, at) },
	})
	return p
}

// parse parses the latest of the sources, and returns the node of its only document, or nil after a fatal error.
func (p *problems) parse(data []byte) *yaml.Node {
	p.Base = p.sources[len(p.sources)-1].base
	return p.Parse(data)
}

// decode decodes the node at a place into a pointer.
func decode(p *problems, node *yaml.Node, into any, at *path) { p.Decode(node, into, at.String()) }

// substitute replaces ${name} in every value below root. A value that consists only of a parameter gets its type, quoted or not:
// replicas: ${workers} is a number. Keys are not changed.
func substitute(p *problems, known map[string]parameter) {
	values := make(map[string]strict.Value, len(known))
	for name, one := range known {
		values[name] = strict.Value{Text: one.value, Tag: one.kind.tag()}
	}
	p.root = p.Substitute(p.root, "", strict.Values{Known: values})
}

// mark reports an error of the field p at a node's position.
func (p *problems) mark(node *yaml.Node, field *path, hint, format string, args ...any) {
	p.Hint(node, field.String(), hint, format, args...)
}

// field reports an error of the field p at its position, or where it is missing.
func (p *problems) field(field *path, hint, format string, args ...any) {
	if p.has(field) {
		return
	}
	node, _ := locate(p.root, field)
	p.mark(node, field, hint, format, args...)
}

// has reports whether an error of the field, or of an enclosing one, was reported.
func (p *problems) has(field *path) bool {
	if !p.Failed() {
		return false
	}
	for ; field != nil; field = field.up {
		if p.Reported(field.String()) {
			return true
		}
	}
	return p.Reported("")
}

// line returns the position of a field for messages about another one: "12", or "12 of zones.yaml".
// zones.yaml".
func (p *problems) line(at, field *path) string {
	here, _ := locate(p.root, at)
	node, _ := locate(p.root, field)
	return p.sources.describe(node.Line, here.Line)
}

// err returns the collected errors in order, or nil. Nothing can be added afterward.
func (p *problems) err() error {
	err := p.Err()
	list, _ := err.(Errors) //nolint:errorlint // it is not wrapped
	for i := range list {
		file, line := p.sources.find(list[i].Line)
		list[i].File, list[i].Line = file.name, line
	}
	return err
}

type (
	// Error is one problem of a topology file.
	Error = strict.Error
	// Errors are all problems of a topology, the error of [Load].
	Errors = strict.Errors
)
