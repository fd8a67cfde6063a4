package strict

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// Values are what ${name} stands for.
type Values struct {
	Known map[string]string
	// Late are names whose values will be known only later: what holds one of them is left as it is.
	Late map[string]bool
}

func (v Values) names() []string {
	var names []string
	for name := range v.Known {
		names = append(names, name)
	}
	for name := range v.Late {
		names = append(names, name)
	}
	return names
}

// Substitute returns a copy of a node with ${name} replaced in every value below it, not in keys; $${ stands for ${. A
// value that is nothing but one parameter is read as if its value had been written there.
func (r *Reader) Substitute(node *yaml.Node, path string, v Values) *yaml.Node {
	made := *node
	switch node.Kind {
	case yaml.MappingNode:
		made.Content = make([]*yaml.Node, len(node.Content))
		for i := 0; i+1 < len(node.Content); i += 2 {
			made.Content[i] = node.Content[i]
			made.Content[i+1] = r.Substitute(node.Content[i+1], Below(path, node.Content[i].Value), v)
		}
	case yaml.SequenceNode:
		made.Content = make([]*yaml.Node, len(node.Content))
		for i, item := range node.Content {
			made.Content[i] = r.Substitute(item, Item(path, i), v)
		}
	case yaml.ScalarNode:
		if strings.Contains(node.Value, "${") {
			r.replace(&made, path, v)
		}
	}
	return &made
}

func (r *Reader) replace(node *yaml.Node, path string, v Values) {
	var b strings.Builder
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
			b.WriteString(value)
		case v.Late[name]:
			return
		default:
			r.Unknown(node, path, "parameter", name, v.names())
			return
		}
		rest = tail
	}
	alone := strings.HasPrefix(node.Value, "${") && strings.Index(node.Value, "}") == len(node.Value)-1
	node.Value, node.Tag = b.String(), "!!str"
	if alone {
		node.Tag = "" // as if it had been written there
	}
	node.Style = 0
}

// IsLate tells whether a text waits for a value.
func IsLate(text string) bool { return strings.Contains(text, "${") }
