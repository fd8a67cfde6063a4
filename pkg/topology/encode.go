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
)

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
