package topology

import (
	"encoding"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/stock"
)

// scalarReader reads single values by the rules of a topology: text is not converted to numbers, nor numbers to text.
type scalarReader struct {
	*strict.Reader
	bounds bounds
}

// bounds are what a field takes beyond what its type says, from its tags min:"0" (numbers and sizes that may be nothing)
// and max:"65536" (bytes of text).
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

func (d scalarReader) word(node *yaml.Node, into reflect.Value, at string) {
	words, limited := choicesOf(into.Interface())
	isText := node.Kind == yaml.ScalarNode && node.ShortTag() == "!!str"
	switch {
	case isText && limited:
		d.choice(node, into, at, words)
	case limited:
		d.Hint(node, at, truth(node, words), "must be one of %s, not %s", strict.Listed(words), strict.Describe(node))
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
	d.Hint(node, at, d.Nearest(node.Value, words), "must be one of %s, not %s", strict.Listed(words), strict.Shown(node.Value))
}

// text reads a scalar that knows how to read itself. Numbers are text to it.
func (d scalarReader) text(node *yaml.Node, into encoding.TextUnmarshaler, at string) {
	if node.Kind != yaml.ScalarNode {
		d.Hint(node, at, "", "must be a single value, not %s", strict.Describe(node))
		return
	}
	if err := into.UnmarshalText([]byte(node.Value)); err != nil {
		d.Hint(node, at, "", "%v, not %s", err, strict.Shown(node.Value))
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

// count reads a whole number. All numbers of a topology are counts of things, of most of which there is at least one.
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
