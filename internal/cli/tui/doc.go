// Package tui is the command that opens the terminal UI: on a sandbox that runs, or on a recording of one.
//
// Floor 5. The UI itself is pkg/tui; here its options are read, and it is handed the terminal.
package tui
