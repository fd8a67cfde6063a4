// Package prompt is the input line at the foot of the terminal UI: a command after ":", a filter after "/".
//
// [Parse] parses a command in the words of this program's command line, or in the short ones of k9s, and returns an intent; it
// does nothing itself. The [Model] is the line, with completion from the state, and a history.
//
//	i, err := prompt.Parse("vm power-off worker-1")
//
// Floor 4, in the tree of pkg/tui.
package prompt
