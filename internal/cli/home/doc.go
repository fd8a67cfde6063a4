// Package home is where a sandbox lives that runs in the process of its command: its directory, its record there, and its
// log, into which goes what libraries would write to the terminal.
//
// Floor 5.
package home
