package graph

import "slices"

// most is how many objects that are alike are shown one by one. More are one node.
const most = 3

// summarized makes one node of each run of nodes that are alike. Moved tells of every node that went into another one.
func summarized(nodes []*Node, moved map[*Node]*Node) []*Node {
	var all []*Node
	for len(nodes) > 0 {
		run := 1
		for run < len(nodes) && nodes[run].alike(nodes[0]) {
			run++
		}
		if run > most {
			all = append(all, joined(nodes[:run], moved))
		} else {
			all = append(all, nodes[:run]...)
		}
		nodes = nodes[run:]
	}
	return all
}

func joined(run []*Node, moved map[*Node]*Node) *Node {
	one := *run[0]
	one.Name += " … " + run[len(run)-1].Name
	one.Count = 0
	seen := map[place]bool{}
	one.on = nil
	for _, n := range run {
		moved[n] = &one
		one.Count += n.Count
		for _, p := range n.on {
			if !seen[p] {
				seen[p] = true
				one.on = append(one.on, p)
			}
		}
		for _, l := range n.Links {
			if !slices.Contains(one.Links, l) {
				one.Links = append(one.Links, l)
			}
		}
	}
	return &one
}
