package guest

import (
	"encoding/json"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// maxNodes is how many values of a document are looked at: aliases make long ones of short texts.
const maxNodes = 100_000

var (
	errNoMapping = errors.New("no mapping of keys to values")
	errTooMuch   = errors.New("more than anybody configures")
)

// parse returns the mapping that text consists of, with the order of its keys; nil when it is empty.
func parse(text []byte) (root *yaml.Node, err error) {
	// A guest wrote it, and the parser has had its panics: none may end a process that serves all other nodes.
	defer func() {
		if p := recover(); p != nil {
			root, err = nil, fmt.Errorf("yaml: %v", p)
		}
	}()
	if json.Valid(text) {
		root, err = parseJSON(text)
	} else {
		root, err = parseYAML(text)
	}
	switch {
	case err != nil || root == nil || root.Tag == "!!null":
		return nil, err
	case root.Kind != yaml.MappingNode:
		return nil, errNoMapping
	}
	return root, nil
}

// parseYAML returns what the first document in text says; nil when there is none.
func parseYAML(text []byte) (*yaml.Node, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil || len(document.Content) == 0 {
		return nil, err
	}
	return target(document.Content[0]), nil
}

// target follows an alias.
func target(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		return n.Alias
	}
	return n
}

// get returns the value of key in a mapping, or in one that is merged into it ("<<"); nil when there is none, or null.
func (r *reader) get(mapping *yaml.Node, key string) (*yaml.Node, error) {
	mapping = target(mapping)
	if mapping.Kind != yaml.MappingNode {
		return nil, nil
	}
	var merged *yaml.Node
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if err := r.spend(); err != nil {
			return nil, err
		}
		switch k := target(mapping.Content[i]); {
		case k.Kind == yaml.ScalarNode && k.Value == key:
			if v := target(mapping.Content[i+1]); v.Tag != "!!null" {
				return v, nil
			}
			return nil, nil
		case k.Tag == "!!merge":
			merged = target(mapping.Content[i+1])
		}
	}
	if merged == nil {
		return nil, nil
	}
	if merged.Kind != yaml.SequenceNode {
		return r.get(merged, key)
	}
	for _, m := range merged.Content {
		if err := r.spend(); err != nil {
			return nil, err
		}
		if v, err := r.get(m, key); v != nil || err != nil {
			return v, err
		}
	}
	return nil, nil
}

// below calls f for the value of key in a mapping: for each of its elements when it is a sequence.
func (r *reader) below(mapping *yaml.Node, key string, f func(*yaml.Node) error) error {
	value, err := r.get(mapping, key)
	if err != nil || value == nil {
		return err
	}
	return r.each(value, f)
}

// each calls f for the elements of a sequence, the values of a mapping in their order, or a scalar itself.
func (r *reader) each(n *yaml.Node, f func(*yaml.Node) error) error {
	first, step := 0, 1
	switch n.Kind {
	case yaml.ScalarNode:
		return f(n)
	case yaml.MappingNode:
		first, step = 1, 2
	}
	for i := first; i < len(n.Content); i += step {
		if err := r.spend(); err != nil {
			return err
		}
		if err := f(target(n.Content[i])); err != nil {
			return err
		}
	}
	return nil
}

// spend takes one from the budget.
func (r *reader) spend() error {
	if r.budget--; r.budget < 0 {
		return errTooMuch
	}
	return nil
}
