package strict

import (
	"cmp"
	"encoding"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
)

// Decode fills into, a pointer, from the node at a path. After an error it continues, leaving the field at zero.
func (r *Reader) Decode(node *yaml.Node, into any, path string) {
	if path == "" {
		r.root = reflect.TypeOf(into)
	}
	r.value(node, reflect.ValueOf(into).Elem(), "", path)
}

func (r *Reader) value(node *yaml.Node, into reflect.Value, tag reflect.StructTag, path string) {
	if node.Kind == yaml.AliasNode {
		r.Errorf(node, path, "the alias *%s is not supported: write the value out", node.Value)
		return
	}
	if d, ok := reflect.TypeAssert[Decoder](into.Addr()); ok {
		d.DecodeYAML(r, node, path)
		return
	}
	isText := into.Addr().Type().Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
	switch {
	case IsNull(node): // a key with nothing after it is a key left out
	case into.Kind() == reflect.Pointer:
		if into.IsNil() {
			into.Set(reflect.New(into.Type().Elem()))
		}
		r.value(node, into.Elem(), tag, path)
	case into.Kind() == reflect.Struct && !isText:
		r.mapping(node, into, path)
	case into.Kind() == reflect.Slice && !isText:
		r.list(node, into, tag, path)
	case into.Kind() == reflect.Map:
		r.words(node, into, path)
	case r.lang.Scalar != nil:
		r.lang.Scalar(r, node, into, tag, path)
	default:
		r.scalar(node, into, path)
	}
}

// Keys runs over the keys of a mapping, each once, and reports what is no mapping.
func (r *Reader) Keys(node *yaml.Node, path string, f func(key, value *yaml.Node, below string)) {
	if node.Kind != yaml.MappingNode {
		r.Errorf(node, path, "must be a mapping (key: value), not %s", Describe(node))
		return
	}
	lines := map[string]int{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		below := Below(path, key.Value)
		switch line, twice := lines[key.Value]; {
		case key.Kind != yaml.ScalarNode:
			r.Errorf(key, path, "has %s for a key, where a word belongs", Describe(key))
		case key.ShortTag() == "!!merge":
			r.Errorf(key, path, "merge keys are not supported: write the values out")
		case twice:
			// The field does not count as reported: what the first one says is still looked at.
			r.Add(Error{Line: key.Line, Column: key.Column, Path: below, Message: "is given twice, first on line " + r.line(line, key.Line)})
		default:
			lines[key.Value] = key.Line
			f(key, value, below)
		}
	}
}

func (r *Reader) mapping(node *yaml.Node, into reflect.Value, path string) {
	fields := r.types.Of(into.Type())
	r.Keys(node, path, func(key, value *yaml.Node, below string) {
		field, ok := fields.Find(key.Value)
		if !ok {
			r.unknownKey(node, key, fields, below)
			return
		}
		r.value(value, into.FieldByIndex(field.Index), field.Tag, below)
	})
}

// unknownKey reports a key that a struct does not have: with the near key, which then does not count as missing, or else with the
// place where the file's type has such a key.
func (r *Reader) unknownKey(node, key *yaml.Node, fields FieldSet, at string) {
	if near := r.Nearest(key.Value, fields.Names()); near != "" {
		r.Hint(key, at, near, "unknown key")
		if k, _ := Find(node, near); k == nil {
			r.reported[strings.TrimSuffix(at, key.Value)+near] = true
		}
		return
	}
	if place, ok := r.elsewhere(key.Value, strings.TrimSuffix(strings.TrimSuffix(at, key.Value), ".")); ok {
		r.Errorf(key, at, "unknown key here; it belongs to %s", place)
		return
	}
	r.Errorf(key, at, "unknown key")
}

// elsewhere finds the place at which the type of the file has a key that the mapping at a path does not have: one that the mapping is a
// part of, and a part of that mapping, or else the only place of all: "spec.vcenters[]".
func (r *Reader) elsewhere(name, at string) (place string, ok bool) {
	here := indexes.ReplaceAllString(at, "[]")
	const top = "the top of the file"
	around, part, places := "", "", r.places(name)
	for _, p := range places {
		inner, isPart := strings.CutPrefix(p, here+".")
		switch {
		case part == "" && (isPart && !strings.Contains(inner, ".") || here == "" && !strings.Contains(p, ".")):
			part = p
		case p == "" || strings.HasPrefix(here, p+"."):
			around = cmp.Or(p, top) // the nearest one comes last
		}
	}
	switch {
	case around != "" && part != "":
		return around + " or " + part, true
	case around != "" || part != "":
		return around + part, true
	case len(places) == 1:
		return cmp.Or(places[0], top), true
	}
	return "", false
}

// indexes are the positions in lists of a path.
var indexes = regexp.MustCompile(`\[\d+\]`)

// places returns the places at which the type of the file has a key, those near the root first.
func (r *Reader) places(name string) (all []string) {
	type spot struct {
		typ  reflect.Type
		path string
	}
	if r.root == nil {
		return nil
	}
	seen := map[reflect.Type]bool{}
	for queue := []spot{{r.root, ""}}; len(queue) > 0; queue = queue[1:] {
		s := queue[0]
		for s.typ.Kind() == reflect.Pointer || s.typ.Kind() == reflect.Slice {
			if s.typ.Kind() == reflect.Slice {
				s.path += "[]"
			}
			s.typ = s.typ.Elem()
		}
		if s.typ.Kind() != reflect.Struct || seen[s.typ] || !r.Afford(0) {
			continue
		}
		seen[s.typ] = true
		fields := r.types.Of(s.typ)
		if _, has := fields.Find(name); has {
			all = append(all, s.path)
		}
		for _, f := range fields {
			queue = append(queue, spot{s.typ.FieldByIndex(f.Index).Type, Below(s.path, f.Name)})
		}
	}
	return all
}

func (r *Reader) list(node *yaml.Node, into reflect.Value, tag reflect.StructTag, path string) {
	if node.Kind != yaml.SequenceNode {
		r.Errorf(node, path, "must be a list (- item), not %s", Describe(node))
		return
	}
	if len(node.Content) == 0 {
		return // nil, as if left out
	}
	before := r.items
	if r.items += len(node.Content); r.lang.Items > 0 && r.items > r.lang.Items {
		if before <= r.lang.Items { // once is enough
			r.Errorf(node, path, "makes more than the %d list items a %s may have", r.lang.Items, r.lang.Noun)
		}
		return
	}
	into.Set(reflect.MakeSlice(into.Type(), len(node.Content), len(node.Content)))
	for i, item := range node.Content {
		below := Item(path, i)
		if IsNull(item) {
			r.Errorf(item, below, "is empty")
			continue
		}
		r.value(item, into.Index(i), tag, below)
	}
}

// words reads a mapping of text to text. Numbers and truth values are text there.
func (r *Reader) words(node *yaml.Node, into reflect.Value, path string) {
	into.Set(reflect.MakeMap(into.Type()))
	r.Keys(node, path, func(key, value *yaml.Node, below string) {
		made := reflect.New(into.Type().Elem()).Elem()
		if made.Kind() == reflect.String && value.Kind == yaml.ScalarNode {
			made.SetString(value.Value)
		} else {
			r.value(value, made, "", below)
		}
		into.SetMapIndex(reflect.ValueOf(key.Value), made)
	})
}

func (r *Reader) scalar(node *yaml.Node, into reflect.Value, path string) {
	if node.Kind != yaml.ScalarNode {
		r.Errorf(node, path, "must be a single value, not %s", Describe(node))
		return
	}
	switch into.Kind() {
	case reflect.String:
		into.SetString(node.Value)
	case reflect.Bool:
		yes, ok := Truth(node.Value)
		if !ok {
			r.Hint(node, path, r.Nearest(node.Value, []string{"yes", "no"}), "must be yes or no, not %s", Describe(node))
			return
		}
		into.SetBool(yes)
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(node.Value, 10, 64)
		if err != nil {
			r.Errorf(node, path, "must be a whole number, not %s", Describe(node))
			return
		}
		into.SetInt(n)
	case reflect.Uint64:
		n, err := strconv.ParseUint(node.Value, 10, 64)
		if err != nil {
			r.Errorf(node, path, "must be a whole number, not negative, not %s", Describe(node))
			return
		}
		into.SetUint(n)
	case reflect.Float64:
		f, err := strconv.ParseFloat(node.Value, 64)
		if err != nil {
			r.Errorf(node, path, "must be a number, not %s", Describe(node))
			return
		}
		into.SetFloat(f)
	default:
		panic("strict: " + into.Type().String()) // a type that no file can fill
	}
}

// Truth reads yes, no, true and false.
func Truth(text string) (yes, ok bool) {
	switch strings.ToLower(text) {
	case "yes", "true":
		return true, true
	case "no", "false":
		return false, true
	}
	return false, false
}

// Texts reads one text or a list of texts.
func (r *Reader) Texts(node *yaml.Node, path string) []string {
	if node.Kind == yaml.ScalarNode && !IsNull(node) {
		return []string{node.Value}
	}
	var texts []string
	r.Decode(node, &texts, path)
	return texts
}

// Below is the path of a key, Item that of an item of a list.
func Below(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// Item is the path of an item of a list.
func Item(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// FieldSet are the keys that a struct has, in the order of its fields.
type FieldSet []Field

// Field is one of them.
type Field struct {
	Name  string
	Index []int
	Tag   reflect.StructTag
	// Optional fields are left out where they are zero.
	Optional bool
}

// Types are the fields of struct types, each worked out once.
type Types map[reflect.Type]FieldSet

// Of reads the json tags of a struct, those of embedded structs as if they were its own.
func (t Types) Of(typ reflect.Type) FieldSet {
	if known, ok := t[typ]; ok {
		return known
	}
	var all FieldSet
	for _, f := range reflect.VisibleFields(typ) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || name == "" || name == "-" {
			continue
		}
		all = append(all, Field{Name: name, Index: f.Index, Tag: f.Tag, Optional: strings.HasPrefix(options, "omit")})
	}
	t[typ] = all
	return all
}

// Find finds a field by its key.
func (s FieldSet) Find(name string) (Field, bool) {
	i := slices.IndexFunc(s, func(f Field) bool { return f.Name == name })
	if i < 0 {
		return Field{}, false
	}
	return s[i], true
}

// Names lists the keys.
func (s FieldSet) Names() []string {
	names := make([]string, len(s))
	for i, f := range s {
		names[i] = f.Name
	}
	return names
}

// Values are what ${name} stands for.
type Values struct {
	Known map[string]Value
	// Late are names whose values will be known only later: what holds one of them is left as it is.
	Late map[string]bool
	// Broken are names whose values have an error, which is reported: what holds one is left as it is, and has no other error.
	Broken map[string]bool
}

// Value is the value of a parameter, and the YAML tag of a node that is nothing else; without one, it is read as if it had
// been written there.
type Value struct{ Text, Tag string }

func (v Values) names() []string {
	return slices.Concat(slices.Sorted(maps.Keys(v.Known)), slices.Sorted(maps.Keys(v.Late)), slices.Sorted(maps.Keys(v.Broken)))
}

// Substitute returns a copy of a node with ${name} replaced in every value below it, not in keys; $${ stands for ${. A
// value that is one parameter and nothing else has the type of its value, quoted or not.
func (r *Reader) Substitute(node *yaml.Node, path string, v Values) *yaml.Node {
	if !uses(node) {
		return node
	}
	made := *node
	switch node.Kind {
	case yaml.MappingNode:
		made.Content = slices.Clone(node.Content)
		for i := 0; i+1 < len(node.Content); i += 2 {
			made.Content[i+1] = r.Substitute(node.Content[i+1], Below(path, node.Content[i].Value), v)
		}
	case yaml.SequenceNode:
		made.Content = slices.Clone(node.Content)
		for i, item := range node.Content {
			made.Content[i] = r.Substitute(item, Item(path, i), v)
		}
	case yaml.ScalarNode:
		r.replace(&made, path, v)
	}
	return &made
}

// uses reports whether there is anything to replace, without the cost of knowing where.
func uses(node *yaml.Node) bool {
	switch node.Kind {
	case yaml.ScalarNode:
		return IsLate(node.Value)
	case yaml.MappingNode:
		for i := 1; i < len(node.Content); i += 2 {
			if uses(node.Content[i]) {
				return true
			}
		}
		return false
	}
	return slices.ContainsFunc(node.Content, uses)
}

func (r *Reader) replace(node *yaml.Node, path string, v Values) {
	var b strings.Builder
	tag := "!!str"
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
			r.Errorf(node, path, "has ${ without a } after it ($${ stands for ${)")
			return
		}
		value, known := v.Known[name]
		switch {
		case known:
			b.WriteString(value.Text)
		case v.Broken[name]:
			r.reported[position(node)] = true // its error is reported where it has its value from
			return
		case v.Late[name]:
			return
		default:
			r.Hint(node, path, r.Nearest(name, v.names()), "there is no parameter %s ($${ stands for ${)", Shown(name))
			r.reported[position(node)] = true // it stays as it is, and what reads it knows no better
			return
		}
		if len(name)+len("${}") == len(node.Value) {
			tag = value.Tag
		}
		rest = tail
		if b.Len() > r.room {
			break
		}
	}
	before := r.room
	if r.room -= b.Len(); r.room < 0 {
		if before >= 0 { // once is enough
			r.Errorf(node, path, "makes the %s larger than %s with its parameters", r.lang.Noun, input.Size(int64(r.lang.Size)))
		}
		return
	}
	node.Value, node.Tag, node.Style = b.String(), tag, 0
}

// IsLate reports whether a text waits for a value.
func IsLate(text string) bool { return strings.Contains(text, "${") }
