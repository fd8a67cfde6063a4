// Package coded has the error that commands print with a code and with advice. A package that returns such errors has the
// codes as constants; what exit status a code has is the command's.
//
// Floor 0.
package coded

import (
	"errors"
	"fmt"
)

// Error is an error with a code and advice.
type Error struct {
	// Code is a stable kebab-case id.
	Code string
	// Message is one sentence: lower case, subject first, no full stop.
	Message string
	// Try is what to do about it; several lines are several things to try. "" where that is plain.
	Try string
	// Err is the reason, if another error is.
	Err error
}

// New returns an error. Its message is formatted; err may be nil.
func New(code, try string, err error, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Try: try, Err: err}
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

// Is reports whether err is, or wraps, an [Error] with that code.
func Is(err error, code string) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code == code
}
