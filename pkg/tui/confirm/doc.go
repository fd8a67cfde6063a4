// Package confirm asks before the terminal UI does something dangerous: it shows the effect, the equivalent command line, yes and
// no. No is the default.
//
// Floor 4, in the tree of pkg/tui.
package confirm
