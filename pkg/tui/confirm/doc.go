// Package confirm is the question that the terminal UI asks before something dangerous is done: what it costs, the command
// line that does the same, yes or no. It begins on no.
//
// Floor 4, in the tree of pkg/tui.
package confirm
