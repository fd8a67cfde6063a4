package topology

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
)

// path is a field's place in the file, as a list from the field upwards. It is cheap to extend and turned into text or
// a line number only for an error. Nil is the document itself.
type path struct {
	up    *path
	name  string // a mapping's key; empty for a list item
	index int
}

func (p *path) key(name string) *path { return &path{up: p, name: name} }

func (p *path) item(index int) *path { return &path{up: p, index: index} }

func (p *path) steps() []*path {
	var steps []*path
	for ; p != nil; p = p.up {
		steps = append(steps, p)
	}
	for i, j := 0, len(steps)-1; i < j; i, j = i+1, j-1 {
		steps[i], steps[j] = steps[j], steps[i]
	}
	return steps
}

// String is the usual notation, such as spec.vcenters[0].name.
func (p *path) String() string {
	var b strings.Builder
	for i, step := range p.steps() {
		switch {
		case step.name == "":
			b.WriteString("[" + strconv.Itoa(step.index) + "]")
		case i == 0:
			b.WriteString(strict.Cut(step.name))
		default:
			b.WriteString("." + strict.Cut(step.name))
		}
	}
	return b.String()
}

// locate finds the node at p below root. Where the file does not go that deep it returns the nearest ancestor and false.
func locate(root *yaml.Node, p *path) (*yaml.Node, bool) {
	node := root
	for _, step := range p.steps() {
		next := child(node, step)
		if next == nil {
			return node, false
		}
		node = next
	}
	return node, true
}

func child(node *yaml.Node, step *path) *yaml.Node {
	switch {
	case step.name == "" && node.Kind == yaml.SequenceNode && step.index < len(node.Content):
		return node.Content[step.index]
	case step.name != "" && node.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == step.name {
				return node.Content[i+1]
			}
		}
	}
	return nil
}
