// Package graph draws topologies: as a tree for terminals, and for Graphviz (DOT) and Mermaid.
//
// [Of] makes a [Node] of a resolved topology, with everything in it below, in the order of the file. Many objects that
// are alike are one node, "vm-001 … vm-100". [Tree], [DOT] and [Mermaid] write it. All are pure functions: the same
// topology is always the same text.
//
// It draws what a topology asks for, not what a running vCenter has.
//
// Floor 0: it imports pkg/topology only.
package graph
