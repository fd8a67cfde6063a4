package strict

import (
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
)

// Values are what ${name} stands for.
type Values struct {
	Known map[string]Value
	// Late are names whose values will be known only later: what holds one of them is left as it is.
	Late map[string]bool
}

// Value is the value of a parameter, and the YAML tag of a node that is nothing else; without one, it is read as if it had
// been written there.
type Value struct{ Text, Tag string }

func (v Values) names() []string {
	return slices.Concat(slices.Sorted(maps.Keys(v.Known)), slices.Sorted(maps.Keys(v.Late)))
}

// Substitute returns a copy of a node with ${name} replaced in every value below it, not in keys; $${ stands for ${. A
// value that is one parameter and nothing else has the type of its value, quoted or not.
func (r *Reader) Substitute(node *yaml.Node, path string, v Values) *yaml.Node {
	if !uses(node) {
		return node
	}
	made := *node
	switch node.Kind {
	case yaml.MappingNode:
		made.Content = slices.Clone(node.Content)
		for i := 0; i+1 < len(node.Content); i += 2 {
			made.Content[i+1] = r.Substitute(node.Content[i+1], Below(path, node.Content[i].Value), v)
		}
	case yaml.SequenceNode:
		made.Content = slices.Clone(node.Content)
		for i, item := range node.Content {
			made.Content[i] = r.Substitute(item, Item(path, i), v)
		}
	case yaml.ScalarNode:
		r.replace(&made, path, v)
	}
	return &made
}

// uses reports whether there is anything to replace, without the cost of knowing where.
func uses(node *yaml.Node) bool {
	switch node.Kind {
	case yaml.ScalarNode:
		return IsLate(node.Value)
	case yaml.MappingNode:
		for i := 1; i < len(node.Content); i += 2 {
			if uses(node.Content[i]) {
				return true
			}
		}
		return false
	}
	return slices.ContainsFunc(node.Content, uses)
}

func (r *Reader) replace(node *yaml.Node, path string, v Values) {
	var b strings.Builder
	tag := "!!str"
	for rest := node.Value; ; {
		before, after, found := strings.Cut(rest, "${")
		if escaped, ok := strings.CutSuffix(before, "$"); ok && found {
			b.WriteString(escaped + "${")
			rest = after
			continue
		}
		b.WriteString(before)
		if !found {
			break
		}
		name, tail, closed := strings.Cut(after, "}")
		if !closed {
			r.Errorf(node, path, "has ${ without a } after it ($${ stands for ${)")
			return
		}
		value, known := v.Known[name]
		switch {
		case known:
			b.WriteString(value.Text)
		case v.Late[name]:
			return
		default:
			r.Hint(node, path, r.Nearest(name, v.names()), "there is no parameter %s ($${ stands for ${)", Shown(name))
			return
		}
		if len(name)+len("${}") == len(node.Value) {
			tag = value.Tag
		}
		rest = tail
		if b.Len() > r.room {
			break
		}
	}
	before := r.room
	if r.room -= b.Len(); r.room < 0 {
		if before >= 0 { // once is enough
			r.Errorf(node, path, "makes the %s larger than %s with its parameters", r.lang.Noun, input.Size(int64(r.lang.Size)))
		}
		return
	}
	node.Value, node.Tag, node.Style = b.String(), tag, 0
}

// IsLate reports whether a text waits for a value.
func IsLate(text string) bool { return strings.Contains(text, "${") }
