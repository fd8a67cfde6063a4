// Package live tells a run while it happens, a line for each step with how long it took, and what is being waited for, so
// that it is never silent for long; and sums it up at the end.
//
// On a terminal, what is waited for is one line that changes; elsewhere it is said anew every few seconds.
//
// Floor 4. It writes to the writer that it is given, and is told whether that is a terminal.
package live
