package gate

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
)

// decoder fills values from YAML, strictly, and remembers where each field stands.
type decoder struct {
	found []problem
	lines map[string]int
	meant []string // fields that others were probably meant to be
}

func (d *decoder) add(at, format string, args ...any) {
	d.found = append(d.found, problem{at, fmt.Sprintf(format, args...)})
}

// value fills one value. Its path is at.
func (d *decoder) value(n *yaml.Node, v reflect.Value, at string) {
	if d.lines[at] == 0 {
		d.lines[at] = n.Line
	}
	if n.Kind == yaml.AliasNode {
		d.add(at, "aliases are not read here")
		return
	}
	switch v.Interface().(type) {
	case time.Duration:
		d.duration(n, v, at)
		return
	case map[string]any:
		d.plain(n, v, at, "a mapping")
		return
	}
	switch {
	case v.Type() == reflect.TypeFor[Action]():
		d.action(n, v, at)
	case v.Kind() == reflect.Struct && n.Kind == yaml.ScalarNode && short(v.Type()):
		// One word stands for the first field.
		d.value(n, v.Field(0), at+"."+fieldName(v.Type().Field(0)))
	case v.Kind() == reflect.Struct:
		d.mapping(n, v, at)
	case v.Kind() == reflect.Slice:
		d.sequence(n, v, at)
	case v.Kind() == reflect.String:
		d.plain(n, v, at, "a text")
	case v.Kind() == reflect.Float64:
		d.plain(n, v, at, "a number")
	default:
		d.plain(n, v, at, "a whole number")
	}
}

// short tells whether one word may stand for a struct.
func short(t reflect.Type) bool {
	return t.Implements(reflect.TypeFor[Action]()) && t.NumField() > 0
}

func (d *decoder) plain(n *yaml.Node, v reflect.Value, at, want string) {
	scalar := v.Kind() != reflect.Map
	if scalar && n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" || !scalar && n.Kind != yaml.MappingNode ||
		v.Kind() == reflect.String && n.ShortTag() != "!!str" {
		d.add(at, "want %s, not %s", want, describe(n))
		return
	}
	if err := n.Decode(v.Addr().Interface()); err != nil {
		var bad *yaml.TypeError
		if errors.As(err, &bad) && scalar {
			d.add(at, "want %s, not %s", want, describe(n))
			return
		}
		d.add(at, "%s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
}

func (d *decoder) duration(n *yaml.Node, v reflect.Value, at string) {
	t, err := time.ParseDuration(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil {
		d.add(at, "want a duration such as 300ms or 1m30s, not %s", describe(n))
		return
	}
	v.SetInt(int64(t))
}

func (d *decoder) mapping(n *yaml.Node, v reflect.Value, at string) {
	if n.Kind != yaml.MappingNode {
		d.add(at, "want a mapping, not %s", describe(n))
		return
	}
	fields, names := make(map[string]reflect.Value), []string(nil)
	for i := range v.NumField() {
		name := fieldName(v.Type().Field(i))
		fields[name], names = v.Field(i), append(names, name)
	}
	seen := make(map[string]bool)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		path := join(at, key.Value)
		d.lines[path] = key.Line
		field, ok := fields[key.Value]
		switch {
		case !ok:
			d.add(path, "unknown field%s", hint(key.Value, names))
			d.meant = append(d.meant, join(at, nearest.Of(key.Value, names)))
		case seen[key.Value]:
			d.add(path, "is there twice")
		default:
			d.value(value, field, path)
		}
		seen[key.Value] = true
	}
}

func (d *decoder) sequence(n *yaml.Node, v reflect.Value, at string) {
	if n.Kind != yaml.SequenceNode {
		d.add(at, "want a list, not %s", describe(n))
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, e := range n.Content {
		d.value(e, v.Index(i), fmt.Sprintf("%s[%d]", at, i))
	}
}

// action reads one word, or a mapping with one key.
func (d *decoder) action(n *yaml.Node, v reflect.Value, at string) {
	var names []string
	kinds := make(map[string]reflect.Type)
	for _, a := range actions() {
		names = append(names, a.key())
		kinds[a.key()] = reflect.TypeOf(a)
	}
	key, fields := n, (*yaml.Node)(nil)
	switch {
	case n.Kind == yaml.MappingNode && len(n.Content) == 2:
		key, fields = n.Content[0], n.Content[1]
	case n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null":
		d.add(at, "want one action, such as hang or {latency: 300ms}, not %s", describe(n))
		return
	}
	kind, ok := kinds[key.Value]
	if !ok {
		d.lines[join(at, key.Value)] = key.Line
		d.add(join(at, key.Value), "unknown action%s", hint(key.Value, names))
		return
	}
	made := reflect.New(kind).Elem()
	if fields != nil && fields.ShortTag() != "!!null" {
		d.value(fields, made, join(at, key.Value))
	}
	v.Set(made)
}

// fieldName is a field's name in files.
func fieldName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

// describe says what stands there.
func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind == yaml.AliasNode:
		return "an alias"
	case n.ShortTag() == "!!null":
		return "nothing"
	default:
		return fmt.Sprintf("%q", n.Value)
	}
}
