package config

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Changes names what differs between two configurations, sorted, in the names of [Config.YAML]: vcenter.west.port,
// labels.zone. A vCenter that came or went is one name. Values, which may be secret, are not told.
func Changes(from, to *Config) ([]string, error) {
	a, err := from.flat()
	if err != nil {
		return nil, err
	}
	b, err := to.flat()
	if err != nil {
		return nil, err
	}
	changed := map[string]bool{}
	for path := range a {
		if value, ok := b[path]; !ok || value != a[path] {
			changed[path] = true
		}
	}
	for path := range b {
		if _, ok := a[path]; !ok {
			changed[path] = true
		}
	}
	var names []string
	for path := range changed {
		// Not the parts of a vCenter that came or went as a whole.
		if parts := strings.SplitN(path, between, 3); len(parts) < 3 || !changed[parts[0]+between+parts[1]] {
			names = append(names, strings.ReplaceAll(path, between, "."))
		}
	}
	slices.Sort(names)
	return names, nil
}

// between the names of a path is what no name contains.
const between = "\x00"

// flat is the normal form, each value by its path. Every vCenter is there too, without a value.
func (c *Config) flat() (map[string]string, error) {
	text, err := c.YAML()
	if err != nil {
		return nil, err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	flat := map[string]string{}
	var walk func(n *yaml.Node, path string)
	walk = func(n *yaml.Node, path string) {
		switch n.Kind {
		case yaml.MappingNode:
			for i := 0; i+1 < len(n.Content); i += 2 {
				at := shown(n.Content[i].Value)
				if path != "" {
					at = path + between + at
				}
				if path == "vcenter" {
					flat[at] = ""
				}
				walk(n.Content[i+1], at)
			}
		case yaml.SequenceNode:
			for _, item := range n.Content {
				flat[path] += item.Value + between
			}
		default:
			flat[path] = n.Value
		}
	}
	walk(doc.Content[0], "")
	return flat, nil
}
