package topology

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// problems collects what is wrong with one topology. A field is reported once: its first error tends to explain the
// others, and the replicas of a group share their fields.
type problems struct {
	// sources are the files that root was made of, which its lines lead to.
	sources sources
	root    *yaml.Node
	// list has the lines of sources, and no files, until err makes both what people know them as.
	list Errors
	// reported holds the paths that have an error.
	reported map[string]struct{}
	// guesses is how many names hints may still be looked up among; it bounds the time a hopeless file takes.
	guesses int
}

func newProblems(file string) *problems {
	return &problems{sources: sources{{name: file}}, reported: map[string]struct{}{}, guesses: 200_000}
}

// mark reports an error of the field p at a node's position.
func (p *problems) mark(node *yaml.Node, field *path, hint, format string, args ...any) {
	text := field.String()
	p.reported[text] = struct{}{}
	p.add(max(node.Line, 1), max(node.Column, 1), text, hint, fmt.Sprintf(format, args...))
}

// field reports an error of the field p where the file has it, or else where it should have been.
func (p *problems) field(field *path, hint, format string, args ...any) {
	if p.has(field) {
		return
	}
	node, _ := locate(p.root, field)
	p.mark(node, field, hint, format, args...)
}

// has tells whether the field has been reported already, or something around it, without which it means nothing.
func (p *problems) has(field *path) bool {
	if len(p.reported) == 0 {
		return false
	}
	for ; field != nil; field = field.up {
		if _, found := p.reported[field.String()]; found {
			return true
		}
	}
	_, found := p.reported[""]
	return found
}

// line is where the file has a field, for messages about the field at that point at another one: "12", or "12 of
// zones.yaml".
func (p *problems) line(at, field *path) string {
	here, _ := locate(p.root, at)
	node, _ := locate(p.root, field)
	return p.sources.describe(node.Line, here.Line)
}

// nearest is the candidate that name is probably a misspelling of, or "".
func (p *problems) nearest(name string, candidates []string) string {
	if !p.afford(len(candidates)) {
		return ""
	}
	return nearest(name, candidates)
}

// afford tells whether a hint may be looked up among that many names.
func (p *problems) afford(names int) bool {
	p.guesses -= names + 1
	return p.guesses >= 0
}

func (p *problems) add(line, column int, path, hint, message string) {
	p.list = append(p.list, Error{Line: line, Column: column, Path: path, Message: message, Hint: hint})
}

// err is the collected errors in order, or nil. Nothing can be added after it.
func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	p.list.sort()
	for i := range p.list {
		file, line := p.sources.find(p.list[i].Line)
		p.list[i].File, p.list[i].Line = file.name, line
	}
	return p.list
}
