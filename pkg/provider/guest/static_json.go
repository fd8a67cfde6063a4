package guest

import (
	"bytes"
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// parseJSON returns what valid JSON says, with the order of its keys. It is nearly YAML, but for tabs and for characters
// that are escaped in pairs.
func parseJSON(text []byte) (*yaml.Node, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return jsonValue(d)
}

func jsonValue(d *json.Decoder) (*yaml.Node, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case nil:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}, nil
	case json.Delim:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		if t == '{' {
			n.Kind = yaml.MappingNode
		}
		for d.More() { // the keys of an object are tokens like its values
			v, err := jsonValue(d)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, v)
		}
		_, err := d.Token()
		return n, err
	default:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(t)}, nil
	}
}
