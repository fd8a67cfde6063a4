package topology

import (
	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
)

// merge merges one file's node over that of its included files. Mappings merge by key; lists with named items (see named) merge
// by item, others are concatenated, lower first; otherwise the upper value counts, unless it is empty. The caller must not use
// either node afterward.
//
// It reports nothing: duplicate keys stay for the decoder.
func merge(lower, upper *yaml.Node, key string) *yaml.Node {
	switch {
	case lower == nil, lower.Kind != upper.Kind && !strict.IsNull(upper):
		return upper
	case strict.IsNull(upper):
		return lower
	case upper.Kind == yaml.MappingNode:
		upper.Content = mergeKeys(lower.Content, upper.Content)
	case upper.Kind == yaml.SequenceNode && named(key):
		upper.Content = mergeNamed(lower.Content, upper.Content)
	case upper.Kind == yaml.SequenceNode:
		upper.Content = append(lower.Content, upper.Content...)
	}
	return upper
}

// named reports whether a list's items are identified by name, so that two files can each have a part of one.
func named(key string) bool {
	switch key {
	case "vcenters", "datacenters", "clusters", "parameters":
		return true
	}
	return false
}

// mergeKeys merges the contents of two mappings: keys and values in turn.
func mergeKeys(lower, upper []*yaml.Node) []*yaml.Node {
	at := make(map[string]int, len(lower)/2)
	for i := 0; i+1 < len(lower); i += 2 {
		if _, twice := at[lower[i].Value]; !twice && lower[i].Kind == yaml.ScalarNode {
			at[lower[i].Value] = i
		}
	}
	merged := lower
	for i := 0; i+1 < len(upper); i += 2 {
		key, value := upper[i], upper[i+1]
		if j, ok := at[key.Value]; ok && key.Kind == yaml.ScalarNode {
			merged[j], merged[j+1] = key, merge(merged[j+1], value, key.Value)
			delete(at, key.Value) // a duplicate in upper is left for the decoder
			continue
		}
		merged = append(merged, key, value)
	}
	return merged
}

// mergeNamed merges two lists of named items. Names are compared as written, with parameters.
func mergeNamed(lower, upper []*yaml.Node) []*yaml.Node {
	at := make(map[string]int, len(lower))
	for i, item := range lower {
		if name, ok := nameOf(item); ok {
			if _, twice := at[name]; !twice {
				at[name] = i
			}
		}
	}
	merged := lower
	for _, item := range upper {
		name, ok := nameOf(item)
		if i, found := at[name]; ok && found {
			merged[i] = merge(merged[i], item, "")
			delete(at, name)
			continue
		}
		merged = append(merged, item)
	}
	return merged
}

func nameOf(item *yaml.Node) (string, bool) {
	if node := child(item, &path{name: "name"}); node != nil && node.Kind == yaml.ScalarNode && !strict.IsNull(node) {
		return node.Value, true
	}
	return "", false
}
