package config

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
)

// entry is a key of a mapping with its value, aliases resolved.
type entry struct {
	key   string
	value *yaml.Node
	at    position
}

// maxMerges bounds how deep mappings may be merged into one another.
const maxMerges = 8

// entries returns the keys of a mapping, those that are merged into it after its own; none and a problem when it is no
// mapping. Nothing at all is an empty mapping.
func (r *yamlReader) entries(n *yaml.Node, path string) []entry {
	n = resolveAlias(n)
	if strict.IsNull(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		r.p.at(r.at(n, path), "", "must be a mapping, not %s", strict.Describe(n))
		return nil
	}
	seen := map[string]bool{}
	var all []entry
	var collect func(n *yaml.Node, depth int)
	collect = func(n *yaml.Node, depth int) {
		var merged []*yaml.Node
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := resolveAlias(n.Content[i]), resolveAlias(n.Content[i+1])
			switch {
			case key.Tag == "!!merge":
				merged = append(merged, value)
			case !seen[key.Value]:
				seen[key.Value] = true
				all = append(all, entry{key.Value, value, r.at(n.Content[i], join(path, shown(key.Value)))})
			}
		}
		for _, from := range merged {
			list := []*yaml.Node{from}
			if from.Kind == yaml.SequenceNode {
				list = from.Content
			}
			for _, m := range list {
				if m = resolveAlias(m); m.Kind == yaml.MappingNode && depth < maxMerges {
					collect(m, depth+1)
				}
			}
		}
	}
	collect(n, 0)
	return all
}

func (r *yamlReader) at(n *yaml.Node, path string) position {
	return position{file: r.name, line: n.Line, column: n.Column, path: path}
}

func resolveAlias(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// quoted says that a number or a truth value is text by its quotes only.
func quoted(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode && n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
		plain := yaml.Node{Kind: yaml.ScalarNode, Value: n.Value}
		if tag := plain.ShortTag(); tag == "!!int" || tag == "!!bool" {
			return "leave the quotes out"
		}
	}
	return ""
}

// notMapping says what a file that is no mapping may be.
func notMapping(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode && strings.Contains(n.Value, "=") {
		return "is this an INI file without its first section?"
	}
	return ""
}

// shown is a key as messages have it: one that is empty or holds what cannot be printed is in quotes.
func shown(key string) string {
	key = withoutLogin(key)
	if quoted := strconv.Quote(key); key == "" || len(quoted) != len(key)+2 {
		return quoted
	}
	return key
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
