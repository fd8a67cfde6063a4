// Package panel is what the root model of the terminal UI knows of the screens and overlays it shows.
//
// Floor 4, in the tree of pkg/tui.
package panel
