// Package prompt is the line at the foot of the terminal UI into which people type: a command after ":", a filter after
// "/".
//
// [Parse] reads a command: in the words of the command line of this program, so that what is known from there works here,
// and in the short ones that k9s has. What comes out is an intent; nothing is done here. The [Model] is the line itself,
// with completion from what the state knows, and a history.
//
//	i, err := prompt.Parse("vm power-off worker-1")
//
// Floor 4, in the tree of pkg/tui.
package prompt
