package migrate

import "go.yaml.in/yaml/v3"

// pair is an entry of a mapping.
type pair struct{ key, value *yaml.Node }

// pairs are the entries of a mapping in their order; none of what is no mapping.
func pairs(n *yaml.Node) []pair {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	var all []pair
	for i := 0; i+1 < len(n.Content); i += 2 {
		all = append(all, pair{n.Content[i], n.Content[i+1]})
	}
	return all
}

// field is a value of a mapping; nil when there is none.
func field(n *yaml.Node, key string) *yaml.Node {
	for _, p := range pairs(n) {
		if p.key.Value == key {
			return p.value
		}
	}
	return nil
}

// text is a scalar's; empty for everything else.
func text(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		return ""
	}
	return n.Value
}

// put adds an entry to a mapping.
func put(n *yaml.Node, key string, value *yaml.Node) {
	n.Content = append(n.Content, scalar(key), value)
}

func scalar(text string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(text)
	return n
}

func mapping() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"} }

// plain is a copy with every alias replaced by what it stands for. It gives up when the budget of nodes is used up, which
// then is less than zero.
func plain(n *yaml.Node, budget *int) *yaml.Node {
	if *budget--; *budget < 0 {
		return n
	}
	if n.Kind == yaml.AliasNode {
		return plain(n.Alias, budget)
	}
	c := *n
	c.Anchor, c.Content = "", nil
	for _, item := range n.Content {
		if c.Content = append(c.Content, plain(item, budget)); *budget < 0 {
			break
		}
	}
	return &c
}

// repeated is how many keys stand in their mapping again.
func repeated(n *yaml.Node) (count int) {
	seen := map[string]bool{}
	for _, p := range pairs(n) {
		if seen[p.key.Value] {
			count++
		}
		seen[p.key.Value] = true
	}
	for _, item := range n.Content {
		count += repeated(item)
	}
	return count
}
