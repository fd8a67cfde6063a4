package strict

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Locate finds the node at a path such as spec.vcenters[0].name below root, or its nearest ancestor.
func Locate(root *yaml.Node, path string) *yaml.Node {
	node := root
	for _, step := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' }) {
		var next *yaml.Node
		if number, isItem := strings.CutSuffix(step, "]"); isItem {
			if i, err := strconv.Atoi(number); err == nil && node.Kind == yaml.SequenceNode && i >= 0 && i < len(node.Content) {
				next = node.Content[i]
			}
		} else {
			_, next = Find(node, step)
		}
		if next == nil {
			return node
		}
		node = next
	}
	return node
}
