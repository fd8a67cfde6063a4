// Package report turns the error a command ends with into what its user gets: a stable code, one sentence, the reason,
// the way out, and the exit status. Text and JSON show the same [Record].
//
// Floor 5. It knows nothing of any command.
package report
