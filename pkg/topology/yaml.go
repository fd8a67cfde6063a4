package topology

import (
	"bytes"
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/stock"
)

// scalarReader decodes scalars by the rules of a topology: it does not convert between text and numbers.
type scalarReader struct {
	*strict.Reader
	bounds bounds
}

// bounds are the limits in a field's tags: min:"0" (numbers and sizes that may be zero) and max:"65536" (bytes of text).
type bounds struct {
	zero bool
	most int
}

func boundsOf(tag reflect.StructTag) bounds {
	b := bounds{zero: tag.Get("min") == "0", most: maxText}
	if n, err := strconv.Atoi(tag.Get("max")); err == nil {
		b.most = n
	}
	return b
}

func scalar(r *strict.Reader, node *yaml.Node, into reflect.Value, tag reflect.StructTag, at string) {
	d := scalarReader{r, boundsOf(tag)}
	text, ok := reflect.TypeAssert[encoding.TextUnmarshaler](into.Addr())
	switch {
	case ok:
		d.text(node, text, at)
	case into.Kind() == reflect.String:
		d.word(node, into, at)
	default:
		d.count(node, into, at)
	}
}

// choices is implemented by types with a fixed set of values.
type choices interface{ choices() []string }

// choicesOf returns the values of a type with a fixed set. Package stock lists its own.
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

func (d scalarReader) word(node *yaml.Node, into reflect.Value, at string) {
	words, limited := choicesOf(into.Interface())
	isText := node.Kind == yaml.ScalarNode && node.ShortTag() == "!!str"
	switch {
	case isText && limited:
		d.choice(node, into, at, words)
	case limited:
		d.Hint(node, at, d.Nearest(node.Value, words), "must be one of %s, not %s", strict.Listed(words), strict.Describe(node))
	case !isText:
		d.Hint(node, at, quoted(node), "must be text, not %s", strict.Describe(node))
	case len(node.Value) > d.bounds.most:
		d.Hint(node, at, "", "must be at most %d bytes long, not %s", d.bounds.most, strict.Shown(node.Value))
	default:
		into.SetString(node.Value)
	}
}

func (d scalarReader) choice(node *yaml.Node, into reflect.Value, at string, words []string) {
	for _, word := range words {
		if node.Value == word {
			into.SetString(word)
			return
		}
	}
	hint := ""
	if s, ok := into.Interface().(synonyms); ok {
		hint = s.synonyms()[strings.ToLower(node.Value)]
	}
	if hint == "" {
		hint = d.Nearest(node.Value, words)
	}
	d.Hint(node, at, hint, "must be one of %s, not %s", strict.Listed(words), strict.Shown(node.Value))
}

// synonyms are words of other programs for values of a topology.
type synonyms interface{ synonyms() map[string]string }

// text decodes a scalar with UnmarshalText, also from a number.
func (d scalarReader) text(node *yaml.Node, into encoding.TextUnmarshaler, at string) {
	if node.Kind != yaml.ScalarNode {
		d.Hint(node, at, "", "must be a single value, not %s", strict.Describe(node))
		return
	}
	if err := into.UnmarshalText([]byte(node.Value)); err != nil {
		hint := ""
		if _, ok := into.(*Bytes); ok {
			hint = binarySize(node.Value)
		}
		d.Hint(node, at, hint, "%v, not %s", err, strict.Shown(node.Value))
		return
	}
	b, ok := into.(*Bytes)
	switch {
	case !ok || *b > 0 || *b == 0 && d.bounds.zero:
	case d.bounds.zero:
		d.Hint(node, at, "", "must not be less than nothing")
	default:
		d.Hint(node, at, "", "must be more than nothing")
	}
}

// count decodes a whole number. All numbers of a topology are counts, most of them positive.
func (d scalarReader) count(node *yaml.Node, into reflect.Value, at string) {
	var n int64
	if node.Kind != yaml.ScalarNode || node.ShortTag() != "!!int" {
		d.Hint(node, at, "", "must be a whole number, not %s", strict.Describe(node))
		return
	}
	if err := node.Decode(&n); err != nil || into.OverflowInt(n) {
		d.Hint(node, at, "", "is too large a number")
		return
	}
	least := int64(1)
	if d.bounds.zero {
		least = 0
	}
	if n < least {
		d.Hint(node, at, "", "must be at least %d", least)
		return
	}
	into.SetInt(n)
}

// quoted returns a hint for a value that YAML reads as a number or similar.
func quoted(node *yaml.Node) string {
	switch node.ShortTag() {
	case "!!int", "!!float", "!!bool", "!!timestamp":
		return node.Value
	}
	return ""
}

// Marshal writes a topology as YAML for [Load], with fields in the order of the types. Loading the result of a resolved topology
// returns an equal one.
func Marshal(t *Topology) ([]byte, error) {
	var text bytes.Buffer
	out := yaml.NewEncoder(&text)
	out.SetIndent(2)
	if err := out.Encode(encoder{strict.Types{}}.node(reflect.ValueOf(t).Elem())); err != nil {
		return nil, fmt.Errorf("topology %q: %w", t.Metadata.Name, err)
	}
	if err := out.Close(); err != nil {
		return nil, fmt.Errorf("topology %q: %w", t.Metadata.Name, err)
	}
	return text.Bytes(), nil
}

// encoder makes nodes of values.
type encoder struct{ types strict.Types }

func (r encoder) node(value reflect.Value) *yaml.Node {
	if text, ok := reflect.TypeAssert[encoding.TextMarshaler](value); ok {
		b, err := text.MarshalText()
		if err == nil {
			return &yaml.Node{Kind: yaml.ScalarNode, Value: string(b)}
		}
	}
	switch value.Kind() {
	case reflect.Struct:
		node := &yaml.Node{Kind: yaml.MappingNode}
		for _, field := range r.types.Of(value.Type()) {
			inner := value.FieldByIndex(field.Index)
			if field.Optional && (inner.IsZero() || inner.Kind() == reflect.Slice && inner.Len() == 0) {
				continue
			}
			node.Content = append(node.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: field.Name}, r.node(inner))
		}
		return node
	case reflect.Slice:
		node := &yaml.Node{Kind: yaml.SequenceNode}
		for i := range value.Len() {
			node.Content = append(node.Content, r.node(value.Index(i)))
		}
		return node
	case reflect.String:
		return textNode(value.String())
	default:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: strconv.FormatInt(value.Int(), 10)}
	}
}

// textNode quotes text that a YAML 1.1 reader could interpret differently; the encoder only knows YAML 1.2. It escapes text that
// looks like a parameter.
func textNode(text string) *yaml.Node {
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: strings.ReplaceAll(text, "${", "$${")}
	if slices.Contains([]string{"y", "Y", "n", "N", "yes", "Yes", "YES", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF"}, text) {
		node.Style = yaml.DoubleQuotedStyle
	}
	return node
}
