// Package intent is what panels of the terminal UI want done: values that a key, a line of the prompt or a menu makes,
// and that the root model carries out. Panels themselves touch nothing.
//
// An [Action] changes something in a sandbox. It knows the command line that does the same, what it may cost, and how
// to be done; the root model asks first when it is dangerous, and refuses it in read-only mode. All other intents move
// around in the UI.
//
// Floor 4, in the tree of pkg/tui. It knows no terminal.
package intent
