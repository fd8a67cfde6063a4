package graph

import "strconv"

// numbered gives the nodes names that every language takes, n0, n1 … in the order of the tree.
func numbered(root *Node) (order []*Node, names map[*Node]string) {
	names = map[*Node]string{}
	var visit func(*Node)
	visit = func(n *Node) {
		names[n] = "n" + strconv.Itoa(len(order))
		order = append(order, n)
		for _, child := range n.Children {
			visit(child)
		}
	}
	visit(root)
	return order, names
}

// label is a node in a few lines: what it is called, what there is to say, its tags.
func label(n *Node) []string {
	lines := append([]string{title(n)}, n.Notes...)
	return append(lines, n.Tags...)
}
