// Package intent has the requests of the terminal UI: values that a key, a line of the prompt or a menu produces, and that the
// root model carries out. Panels change nothing themselves.
//
// An [Action] changes something in a sandbox. It knows its command line, its cost, and how to do it; the root model asks before a
// dangerous one, and refuses it in read-only mode. All other intents navigate in the UI.
//
// Floor 4, in the tree of pkg/tui. It knows no terminal.
package intent
