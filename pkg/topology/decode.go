package topology

import (
	"encoding"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/stock"
)

// decoder fills structs from YAML nodes by their json tags. It goes on after an error, leaving the field at zero, so
// that one reading finds them all. Nothing that the file cannot say directly is accepted: no aliases (which make small
// files huge), no merge keys, no conversion between text and numbers.
type decoder struct {
	*problems
	records records
	items   *int // how many list items there were
	bounds  bounds
}

// choices is implemented by types that take one of a few words.
type choices interface{ choices() []string }

// choicesOf are the words that a type takes, if it takes a few only. Those of package stock are its own to list.
func choicesOf(value any) (words []string, limited bool) {
	switch v := value.(type) {
	case choices:
		return v.choices(), true
	case stock.Behavior:
		for _, b := range stock.All() {
			words = append(words, string(b))
		}
		return words, true
	}
	return nil, false
}

func (d decoder) value(node *yaml.Node, into reflect.Value, at *path) {
	switch {
	case node.Kind == yaml.AliasNode:
		d.mark(node, at, "", "the alias *%s is not supported: write the value out, or use replicas", node.Value)
	case isNull(node):
		// A key with nothing after it is a key left out. In a list, something was meant.
		if at != nil && at.name == "" {
			d.mark(node, at, "", "is empty")
		}
	case into.Addr().Type().Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		d.text(node, into.Addr().Interface().(encoding.TextUnmarshaler), at)
	case into.Kind() == reflect.Struct:
		d.mapping(node, into, at)
	case into.Kind() == reflect.Slice:
		d.list(node, into, at)
	case into.Kind() == reflect.String:
		d.word(node, into, at)
	default:
		d.count(node, into, at)
	}
}

func (d decoder) mapping(node *yaml.Node, into reflect.Value, at *path) {
	if node.Kind != yaml.MappingNode {
		d.mark(node, at, "", "must be a mapping (key: value), not %s", describe(node))
		return
	}
	known := d.records.of(into.Type())
	seen := make(map[string]int, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			d.mark(key, at, "", "has %s for a key, where a word belongs", describe(key))
			continue
		}
		below := at.key(key.Value)
		if line, twice := seen[key.Value]; twice {
			// Not marked: what the first one says is still looked at.
			d.add(key.Line, key.Column, below.String(), "", "is given twice, first on line "+d.sources.describe(line, key.Line))
			continue
		}
		seen[key.Value] = key.Line
		field, ok := known.byName[key.Value]
		if !ok {
			d.unknown(key, below, known)
			continue
		}
		inner := d
		inner.bounds = field.bounds
		inner.value(value, into.FieldByIndex(field.index), below)
	}
}

func (d decoder) unknown(key *yaml.Node, at *path, known *record) {
	if key.ShortTag() == "!!merge" {
		d.mark(key, at, "", "merge keys are not supported: write the values out, or use replicas")
		return
	}
	d.mark(key, at, d.nearest(key.Value, known.names), "unknown key")
}

func (d decoder) list(node *yaml.Node, into reflect.Value, at *path) {
	if node.Kind != yaml.SequenceNode {
		d.mark(node, at, "", "must be a list (- item), not %s", describe(node))
		return
	}
	if len(node.Content) == 0 {
		return // nil, as if left out
	}
	before := *d.items
	if *d.items += len(node.Content); *d.items > maxItems {
		if before <= maxItems { // once is enough
			d.mark(node, at, "", "makes more than the %d list items a topology may have", maxItems)
		}
		return
	}
	into.Set(reflect.MakeSlice(into.Type(), len(node.Content), len(node.Content)))
	for i, item := range node.Content {
		d.value(item, into.Index(i), at.item(i))
	}
}

func (d decoder) word(node *yaml.Node, into reflect.Value, at *path) {
	words, limited := choicesOf(into.Interface())
	isText := node.Kind == yaml.ScalarNode && node.ShortTag() == "!!str"
	switch {
	case isText && limited:
		d.choice(node, into, at, words)
	case limited:
		d.mark(node, at, truth(node, words), "must be one of %s, not %s", listed(words), describe(node))
	case !isText:
		d.mark(node, at, quoted(node), "must be text, not %s", describe(node))
	case len(node.Value) > d.bounds.most:
		d.mark(node, at, "", "must be at most %d bytes long, not %s", d.bounds.most, shown(node.Value))
	default:
		into.SetString(node.Value)
	}
}

func (d decoder) choice(node *yaml.Node, into reflect.Value, at *path, words []string) {
	for _, word := range words {
		if node.Value == word {
			into.SetString(word)
			return
		}
	}
	d.mark(node, at, d.nearest(node.Value, words), "must be one of %s, not %s", listed(words), shown(node.Value))
}

// text reads a scalar that knows how to read itself. Numbers are text to it.
func (d decoder) text(node *yaml.Node, into encoding.TextUnmarshaler, at *path) {
	if node.Kind != yaml.ScalarNode {
		d.mark(node, at, "", "must be a single value, not %s", describe(node))
		return
	}
	if err := into.UnmarshalText([]byte(node.Value)); err != nil {
		d.mark(node, at, "", "%v, not %s", err, shown(node.Value))
		return
	}
	b, ok := into.(*Bytes)
	switch {
	case !ok || *b > 0 || *b == 0 && d.bounds.zero:
	case d.bounds.zero:
		d.mark(node, at, "", "must not be less than nothing")
	default:
		d.mark(node, at, "", "must be more than nothing")
	}
}

// count reads a whole number. All numbers of a topology are counts of things, of most of which there is at least one.
func (d decoder) count(node *yaml.Node, into reflect.Value, at *path) {
	var n int64
	if node.Kind != yaml.ScalarNode || node.ShortTag() != "!!int" {
		d.mark(node, at, "", "must be a whole number, not %s", describe(node))
		return
	}
	if err := node.Decode(&n); err != nil || into.OverflowInt(n) {
		d.mark(node, at, "", "is too large a number")
		return
	}
	least := int64(1)
	if d.bounds.zero {
		least = 0
	}
	if n < least {
		d.mark(node, at, "", "must be at least %d", least)
		return
	}
	into.SetInt(n)
}

// describe says what the file has, for a message about what it should have.
func describe(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	switch tag := node.ShortTag(); tag {
	case "!!str":
		return "the text " + shown(node.Value)
	case "!!int", "!!float":
		return "the number " + cut(node.Value)
	case "!!bool":
		return "the truth value " + cut(node.Value)
	case "!!timestamp":
		return "the date " + cut(node.Value)
	case "!!null":
		return "nothing"
	default:
		return "a value of type " + cut(tag)
	}
}

// truth is the hint for a truth value where yes or no belongs.
func truth(node *yaml.Node, words []string) string {
	if node.ShortTag() != "!!bool" || !slices.Contains(words, string(Yes)) {
		return ""
	}
	if strings.EqualFold(node.Value, "true") {
		return string(Yes)
	}
	return string(No)
}

// quoted is the hint for a value that YAML takes for a number or the like.
func quoted(node *yaml.Node) string {
	switch node.ShortTag() {
	case "!!int", "!!float", "!!bool", "!!timestamp":
		return node.Value
	}
	return ""
}

// shown quotes a value from the file, cut to a length that fits a message.
func shown(value string) string { return strconv.Quote(cut(value)) }

func cut(value string) string {
	const most = 80
	if len(value) > most {
		return strings.ToValidUTF8(value[:most], "") + "…"
	}
	return value
}

// listed joins quoted words for a sentence. Many of them are not quoted.
func listed(words []string) string {
	if len(words) > 8 {
		return strings.Join(words, ", ")
	}
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = shown(word)
	}
	return strings.Join(quoted, " or ")
}
