// Package graph draws topologies as trees for terminals.
//
// [Of] returns the [Node] of a resolved topology, with its contents below it in the order of the file. Many similar objects are
// one node, "vm-001 … vm-100". [Tree] writes it. Both are pure functions: a topology always gives the same text.
//
// It draws a topology, not a running vCenter.
//
// Floor 0: it imports pkg/topology only.
package graph
