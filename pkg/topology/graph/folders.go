package graph

import "strings"

// tree is a hierarchy of folders of one kind below a node.
type tree struct {
	kind  Kind
	paths map[string]*Node
	order []*Node
}

func newTree(root *Node, kind Kind) *tree {
	return &tree{kind: kind, paths: map[string]*Node{"": root}, order: []*Node{root}}
}

// at returns the folder of that path, which is made with those around it where there is none yet.
func (t *tree) at(path string) *Node {
	if n, ok := t.paths[path]; ok {
		return n
	}
	i := strings.LastIndexByte(path, '/')
	around := t.at(path[:max(i, 0)])
	n := &Node{Kind: t.kind, Name: path[i+1:], Count: 1}
	around.Children = append(around.Children, n)
	t.paths[path] = n
	t.order = append(t.order, n)
	return n
}

// each runs over the folders, the root first.
func (t *tree) each(f func(*Node)) {
	for _, n := range t.order {
		f(n)
	}
}
