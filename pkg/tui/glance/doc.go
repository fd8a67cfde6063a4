// Package glance returns the state of a VM, a node, a host or a volume as a glyph and a word, the same on every screen of the
// terminal UI: "● on", "✗ NotReady", "◐ detaching". It knows the rows of package api and no screens.
//
//	m := glance.Node(n)
//	cell := table.Cell{Text: m.String(), Style: m.Style(theme)}
//
// Floor 4, in the tree of pkg/tui.
package glance
