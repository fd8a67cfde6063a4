package scenario

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
)

// Pick is a value of the world: {node: worker-1, field: providerID}.
type Pick struct {
	Kind world.Kind
	Name string
	// Field is a field of the kind. For a map, Key is its key; for a list, the index from 0.
	Field string
	Key   string

	node *yaml.Node
}

// DecodeYAML parses a pick.
func (p *Pick) DecodeYAML(r *strict.Reader, node *yaml.Node, path string) {
	p.node = node
	var kinds []string
	for _, k := range world.Kinds() {
		kinds = append(kinds, string(k))
	}
	r.Keys(node, path, func(key, value *yaml.Node, below string) {
		if value.Kind != yaml.ScalarNode || strict.IsNull(value) {
			r.Errorf(value, below, "must be a single value, not %s", strict.Describe(value))
			return
		}
		switch {
		case key.Value == "field":
			p.Field = value.Value
		case world.Kind(key.Value).Fields() != nil:
			if p.Kind != "" {
				r.Errorf(key, below, "is a second object: %s is there already", p.Kind)
				return
			}
			p.Kind, p.Name = world.Kind(key.Value), value.Value
		default:
			r.Unknown(key, below, "key", key.Value, append(kinds, "field"))
		}
	})
	if r.Failed() {
		return
	}
	if p.Kind == "" || p.Name == "" || p.Field == "" {
		r.Errorf(node, path, "must name the object: {node: NAME, field: FIELD}")
		return
	}
	name, key, _ := strings.Cut(p.Field, ".")
	f, ok := p.Kind.Field(name)
	if !ok {
		var known []string
		for _, f := range p.Kind.Fields() {
			known = append(known, f.Name)
		}
		_, at := strict.Find(node, "field")
		r.Unknown(at, strict.Below(path, "field"), "field of a "+string(p.Kind), name, known)
		return
	}
	if p.Field, p.Key = name, key; key == "" && f.Map {
		r.Errorf(node, path, "must choose one of its %s: field: %s.NAME", name, name)
	}
}
