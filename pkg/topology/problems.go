package topology

import (
	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
)

// MaxSize is how many bytes a topology file may have: room for more than ten thousand VMs written out one by one.
const MaxSize = input.MaxFile

// problems collects what is wrong with one topology. A field is reported once: its first error tends to explain the
// others, and the replicas of a group share their fields.
type problems struct {
	*strict.Reader
	// sources are the files that root was made of, which its lines lead to.
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

// parse turns the text of the latest of the sources into the node of its one document, nil where there is nothing to continue
// with.
func (p *problems) parse(data []byte) *yaml.Node {
	p.Base = p.sources[len(p.sources)-1].base
	return p.Parse(data)
}

// decode fills into, a pointer, from what the file has at a place.
func decode(p *problems, node *yaml.Node, into any, at *path) { p.Decode(node, into, at.String()) }

// substitute replaces ${name} in every value below root. A value that is nothing else gets the parameter's type with it,
// quoted or not: replicas: ${workers} is a number. Keys are left alone.
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

// field reports an error of the field p where the file has it, or else where it should have been.
func (p *problems) field(field *path, hint, format string, args ...any) {
	if p.has(field) {
		return
	}
	node, _ := locate(p.root, field)
	p.mark(node, field, hint, format, args...)
}

// has reports whether the field has been reported already, or something around it, without which it means nothing.
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

// line is where the file has a field, for messages about the field at that point at another one: "12", or "12 of
// zones.yaml".
func (p *problems) line(at, field *path) string {
	here, _ := locate(p.root, at)
	node, _ := locate(p.root, field)
	return p.sources.describe(node.Line, here.Line)
}

// err is the collected errors in order, or nil. Nothing can be added after it.
func (p *problems) err() error {
	err := p.Err()
	list, _ := err.(Errors) //nolint:errorlint // it is not wrapped
	for i := range list {
		file, line := p.sources.find(list[i].Line)
		list[i].File, list[i].Line = file.name, line
	}
	return err
}
