package record

import "go.yaml.in/yaml/v3"

func text(value string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(value)
	return n
}

func texts(values []string) *yaml.Node {
	made := list()
	for _, value := range values {
		made.Content = append(made.Content, text(value))
	}
	return made
}

func list() *yaml.Node { return &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"} }

// mapping makes one of keys and values in turn: texts and nodes.
func mapping(pairs ...any) *yaml.Node {
	made := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for i := 0; i+1 < len(pairs); i += 2 {
		put(made, pairs[i].(string), pairs[i+1])
	}
	return made
}

// put adds a key.
func put(into *yaml.Node, key string, value any) {
	node, ok := value.(*yaml.Node)
	if !ok {
		node = text(value.(string))
	}
	into.Content = append(into.Content, text(key), node)
}

// flow writes a node on one line.
func flow(node *yaml.Node) *yaml.Node {
	node.Style = yaml.FlowStyle
	return node
}
