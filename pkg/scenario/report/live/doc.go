// Package live prints the progress of a run: a line for each finished step with its duration, what the current step waits for,
// and a summary.
//
// On a terminal, what it waits for is one changing line; elsewhere it prints it again every few seconds, so that the output is
// never silent for long.
//
// Floor 4. The caller passes the writer, and whether it is a terminal.
package live
