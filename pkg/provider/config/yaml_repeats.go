package config

import "go.yaml.in/yaml/v3"

// maxRepeats is how many keys of one mapping may stand again before the file is refused as a whole. The decoder makes an
// error for every pair of equal keys: a file of 30 kB that repeats one takes gigabytes.
const maxRepeats = 20

// repeats finds a key that stands again in a mapping where so many do that the decoder must not see it; nil for none.
func repeats(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.MappingNode {
		seen, again := make(map[string]bool, len(n.Content)/2), 0
		for i := 0; i < len(n.Content); i += 2 {
			k := n.Content[i]
			if !seen[k.Value] {
				seen[k.Value] = true
			} else if again++; again > maxRepeats {
				return k
			}
		}
	}
	for _, c := range n.Content { // what an alias stands for is looked at where it stands
		if k := repeats(c); k != nil {
			return k
		}
	}
	return nil
}
