package expect

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
)

// Expectation is a statement about the world. Exactly one of its fields is set.
type Expectation struct {
	// All must all be true, and of Any at least one.
	All, Any []*Expectation

	Rows   *Rows
	Event  *Event
	Events *Events
	Calls  *Calls
	Log    *Log
	Metric *Metric
}

// Subjects returns the first word of each kind of statement.
func Subjects() []string {
	var words []string
	for _, k := range world.Kinds() {
		words = append(words, string(k))
	}
	return append(words, "event", "events", "calls", "log", "metric", "all", "any")
}

// DecodeYAML parses a statement, or a list of statements that must all be true.
func (x *Expectation) DecodeYAML(r *strict.Reader, node *yaml.Node, path string) {
	if node.Kind == yaml.SequenceNode {
		if r.Decode(node, &x.All, path); len(node.Content) == 0 {
			r.Errorf(node, path, "must be a list of statements")
		}
		return
	}
	if node.Kind != yaml.MappingNode {
		r.Errorf(node, path, "must begin with one of %s", strings.Join(Subjects(), ", "))
		return
	}
	var word string
	var value *yaml.Node
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		if !slices.Contains(Subjects(), key.Value) {
			continue
		}
		// A VM has a field host, and a node a field vm: the first word is the subject.
		if word != "" {
			if _, isField := world.Kind(word).Field(key.Value); isField {
				continue
			}
			r.Errorf(key, path, "is about %s and about %s: make it a list of two", word, key.Value)
			return
		}
		word, value = key.Value, node.Content[i+1]
	}
	x.about(r, node, value, word, path)
}

func (x *Expectation) about(r *strict.Reader, node, value *yaml.Node, word, path string) {
	below := strict.Below(path, word)
	alone := func() bool {
		for i := 0; i+1 < len(node.Content); i += 2 {
			if key := node.Content[i]; key.Value != word {
				r.Errorf(key, strict.Below(path, key.Value), "unknown key %q: conditions on the %s are in it: %s: {…}", key.Value, word, word)
				return false
			}
		}
		return true
	}
	switch word {
	case "":
		known := Subjects()
		if len(node.Content) > 0 {
			r.Hint(node.Content[0], path, nearest.Of(node.Content[0].Value, known), "must begin with one of %s", strings.Join(known, ", "))
			return
		}
		r.Errorf(node, path, "must begin with one of %s", strings.Join(known, ", "))
	case "all", "any":
		if !alone() {
			return
		}
		list := &x.All
		if word == "any" {
			list = &x.Any
		}
		if r.Decode(value, list, below); len(*list) == 0 {
			r.Errorf(value, below, "must be a list of statements")
		}
	case "event":
		x.Event = &Event{}
		if alone() {
			r.Decode(value, x.Event, below)
			x.Event.check(r, value, below)
		}
	case "events":
		x.Events = &Events{}
		if alone() {
			x.Events.read(r, value, below)
		}
	case "calls":
		x.Calls = &Calls{}
		if alone() {
			r.Decode(value, x.Calls, below)
			x.Calls.check(r, value, below)
		}
	case "log":
		x.Log = &Log{}
		if alone() {
			r.Decode(value, x.Log, below)
			x.Log.check(r, value, below)
		}
	case "metric":
		x.Metric = &Metric{}
		if alone() {
			r.Decode(value, x.Metric, below)
			x.Metric.check(r, value, below)
		}
	default:
		x.Rows = &Rows{Kind: world.Kind(word)}
		x.Rows.read(r, node, path)
	}
}

// Walk calls f for the expectation and all its parts.
func (x *Expectation) Walk(f func(*Expectation)) {
	f(x)
	for _, one := range append(slices.Clone(x.All), x.Any...) {
		one.Walk(f)
	}
}

// String returns a line.
func (x *Expectation) String() string {
	switch {
	case x.Rows != nil:
		return x.Rows.String()
	case x.Event != nil:
		return "event " + x.Event.String()
	case x.Events != nil:
		return x.Events.String()
	case x.Calls != nil:
		return x.Calls.String()
	case x.Log != nil:
		return x.Log.String()
	case x.Metric != nil:
		return x.Metric.String()
	}
	list, word := x.All, " and "
	if len(x.Any) > 0 {
		list, word = x.Any, " or "
	}
	texts := make([]string, len(list))
	for i, one := range list {
		texts[i] = one.String()
	}
	return strings.Join(texts, word)
}
