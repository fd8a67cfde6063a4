package expect

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
)

// Rows is a statement about objects: nodes, VMs, volumes.
type Rows struct {
	Kind world.Kind
	// Names are names or patterns; each must match an object. Where selects by fields instead.
	Names []string
	Where []Fielded
	// Fields are the conditions on all selected objects.
	Fields []Fielded
	// NoTaints are taints that nodes must not have.
	NoTaints []string
	// Count is how many of the selected must meet the conditions, instead of all.
	Count *Count
	// Exists, if false, expects no row.
	Exists *bool

	nodes map[string]*yaml.Node
}

// Fielded is a field with its expected value.
type Fielded struct {
	world.Field
	Value *Value
}

// Keys returns the keys of a kind other than its fields.
func (s *Rows) keys() []string {
	known := []string{"exists", "count"}
	if s.Kind == world.Node {
		known = append(known, "noTaints")
	}
	for _, f := range s.Kind.Fields() {
		known = append(known, f.Name)
	}
	return known
}

// read parses the whole mapping; one key is the subject.
func (s *Rows) read(r *strict.Reader, node *yaml.Node, path string) {
	first := true
	r.Keys(node, path, func(key, value *yaml.Node, below string) {
		switch {
		case first && key.Value == string(s.Kind), key.Value == string(s.Kind) && !s.isField(key.Value):
			first = false
			s.choose(r, value, below)
		case key.Value == "exists":
			s.Exists = new(bool)
			r.Decode(value, s.Exists, below)
		case key.Value == "count":
			s.Count = &Count{}
			r.Decode(value, s.Count, below)
		case key.Value == "noTaints" && s.Kind == world.Node:
			s.NoTaints = r.Texts(value, below)
		default:
			if f, ok := s.field(r, key, value, below); ok {
				s.Fields = append(s.Fields, f)
			}
		}
	})
	if s.Exists != nil && s.Count != nil {
		r.Errorf(node, path, "has both exists and count: remove one")
	}
}

func (s *Rows) isField(name string) bool { _, ok := s.Kind.Field(name); return ok }

// choose parses the subject: a name, a list of names, all, or fields.
func (s *Rows) choose(r *strict.Reader, node *yaml.Node, path string) {
	if node.Kind == yaml.MappingNode {
		r.Keys(node, path, func(key, value *yaml.Node, below string) {
			if f, ok := s.field(r, key, value, below); ok {
				s.Where = append(s.Where, f)
			}
		})
		if len(s.Where) == 0 {
			r.Errorf(node, path, "chooses nothing")
		}
		return
	}
	s.Names = r.Texts(node, path)
	s.nodes = map[string]*yaml.Node{}
	if len(s.Names) == 0 {
		r.Errorf(node, path, "must be a name, a list of names, all, or fields that select objects")
	}
	for i, name := range s.Names {
		if s.nodes[name] = node; node.Kind == yaml.SequenceNode {
			s.nodes[name] = node.Content[i]
		}
		if name == "all" {
			s.Names[i] = "*"
		} else if _, err := pattern(name); err != nil {
			r.Errorf(node, path, "%v", err)
		} else if name == "" {
			r.Errorf(node, path, "must not be empty")
		}
	}
}

func (s *Rows) field(r *strict.Reader, key, value *yaml.Node, path string) (Fielded, bool) {
	f, ok := s.Kind.Field(key.Value)
	if !ok {
		r.Unknown(key, path, "field of a "+string(s.Kind), key.Value, s.keys())
		return Fielded{}, false
	}
	v := &Value{}
	v.read(r, value, path, f)
	return Fielded{f, v}, true
}

// NameNodes are the YAML nodes of the names, for checks against a topology.
func (s *Rows) NameNodes() map[string]*yaml.Node { return s.nodes }

// String returns a line: node worker-1: ready True, taints none.
func (s *Rows) String() string {
	var b strings.Builder
	b.WriteString(string(s.Kind) + " ")
	switch {
	case len(s.Names) == 1 && s.Names[0] == "*":
		b.WriteString("(all)")
	case len(s.Names) > 0:
		b.WriteString(strings.Join(s.Names, ", "))
	default:
		b.WriteString("(" + fielded(s.Where) + ")")
	}
	what := fielded(s.Fields)
	if len(s.NoTaints) > 0 {
		what = strings.TrimPrefix(what+", no taint "+strings.Join(s.NoTaints, ","), ", ")
	}
	switch {
	case s.Exists != nil && !*s.Exists:
		b.WriteString(" does not exist")
	case s.Exists != nil || what == "" && s.Count == nil:
		b.WriteString(" exists")
	}
	if s.Count != nil {
		b.WriteString(", count " + s.Count.String())
	}
	if what != "" {
		b.WriteString(": " + what)
	}
	return b.String()
}

func fielded(list []Fielded) string {
	texts := make([]string, len(list))
	for i, f := range list {
		texts[i] = f.Name + " " + f.Value.String()
	}
	return strings.Join(texts, ", ")
}
