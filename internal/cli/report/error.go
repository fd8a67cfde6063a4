package report

import (
	"errors"
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
)

// The exit statuses of every command.
const (
	OK           = 0
	Failure      = 1
	Usage        = 2   // wrong arguments or a wrong input file; nothing was changed
	Degraded     = 3   // the command ran, but a check, condition or expectation failed
	Prerequisite = 4   // this machine, or a cluster, lacks a prerequisite
	Interrupted  = 130 // Ctrl-C
)

// Error is an error with its presentation. Fields may be empty: Code then is "failed", Exit [Failure].
type Error struct {
	// Code is a stable kebab-case id.
	Code string
	// Message is one sentence: lower case, subject first, no full stop.
	Message string
	// Try is what to do about it, a command where there is one; several lines are several things to try.
	Try string
	// Exit is the exit status.
	Exit int
	// Err is the reason, if another error is.
	Err error
}

// Error returns the message and the reason.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Message
	}
	return e.Message + ": " + e.Err.Error()
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// Coded gives the error of another package an exit status: that of its code in exits, or else otherwise. Errors that have no
// code, and nil, are returned as they are.
func Coded(err error, otherwise int, exits map[string]int) error {
	e, ok := errors.AsType[*coded.Error](err)
	if !ok {
		return err
	}
	exit, ok := exits[e.Code]
	if !ok {
		exit = otherwise
	}
	return &Error{Code: e.Code, Message: e.Message, Try: e.Try, Err: e.Err, Exit: exit}
}

// UsageError returns an error for a command that was asked wrongly. try may be empty.
func UsageError(try, format string, args ...any) error {
	return &Error{Code: "usage", Message: fmt.Sprintf(format, args...), Try: try, Exit: Usage}
}

// Exit is an error that was printed already: only its number, the exit status, counts.
type Exit int

// Error returns "exit status N".
func (e Exit) Error() string { return fmt.Sprintf("exit status %d", int(e)) }
