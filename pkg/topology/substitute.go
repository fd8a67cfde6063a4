package topology

import (
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
)

// substitution puts the values of parameters where the topology names them.
type substitution struct {
	*problems
	known map[string]parameter
	names []string
	room  int // how many bytes it may still make
}

// substitute replaces ${name} in every value below root. A value that is nothing else gets the parameter's type with it,
// quoted or not: replicas: ${workers} is a number. Keys are left alone.
func substitute(p *problems, root *yaml.Node, known map[string]parameter) {
	if uses(root) {
		s := &substitution{problems: p, known: known, names: slices.Sorted(maps.Keys(known)), room: MaxSize}
		s.replace(root, nil)
	}
}

// uses tells whether there is anything to replace, without the cost of knowing where.
func uses(node *yaml.Node) bool {
	if node.Kind == yaml.ScalarNode {
		return strings.Contains(node.Value, "${")
	}
	first, step := 0, 1
	if node.Kind == yaml.MappingNode {
		first, step = 1, 2
	}
	for i := first; i < len(node.Content); i += step {
		if uses(node.Content[i]) {
			return true
		}
	}
	return false
}

func (s *substitution) replace(node *yaml.Node, at *path) {
	switch node.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			s.replace(node.Content[i+1], at.key(node.Content[i].Value))
		}
	case yaml.SequenceNode:
		for i, item := range node.Content {
			s.replace(item, at.item(i))
		}
	case yaml.ScalarNode:
		if strings.Contains(node.Value, "${") && node.ShortTag() == "!!str" {
			s.scalar(node, at)
		}
	}
}

// scalar replaces in one value.
func (s *substitution) scalar(node *yaml.Node, at *path) {
	if name, ok := alone(node.Value); ok {
		if one, found := s.known[name]; found {
			node.Tag, node.Value, node.Style = one.kind.tag(), one.value, 0
			return
		}
	}
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
			s.mark(node, at, "", "has ${ without a } after it ($${ stands for ${)")
			return
		}
		one, known := s.known[name]
		if !known {
			s.mark(node, at, s.nearest(name, s.names), "there is no parameter %s ($${ stands for ${)", shown(name))
			return
		}
		b.WriteString(one.value)
		rest = tail
		if b.Len() > s.room {
			break
		}
	}
	before := s.room
	if s.room -= b.Len(); s.room < 0 {
		if before >= 0 { // once is enough
			s.mark(node, at, "", "makes the topology larger than %s with its parameters", input.Size(MaxSize))
		}
		return
	}
	node.Tag, node.Value = "!!str", b.String()
}

// alone tells whether a value is one parameter and nothing else.
func alone(value string) (name string, ok bool) {
	name, ok = strings.CutPrefix(value, "${")
	if name, closed := strings.CutSuffix(name, "}"); ok && closed && !strings.Contains(name, "}") {
		return name, true
	}
	return "", false
}
