package runtime

import (
	"errors"
	"fmt"
)

// Codes of an [Error]: stable kebab-case ids.
const (
	Missing          = "runtime-missing" // no command of it on this machine
	Stopped          = "runtime-stopped" // its daemon does not answer
	Denied           = "runtime-denied"  // its daemon does not talk to this user
	Old              = "runtime-old"     // a release that kind cannot work with
	ContainerMissing = "container-missing"
	ContainerStopped = "container-stopped" // nothing can be done in it
	ImageMissing     = "image-missing"     // neither here nor to be pulled
	Failed           = "runtime-failed"    // anything else; the message has its words
)

// Error is why a runtime did not do what it was asked.
type Error struct {
	Code string
	// Message is one sentence: lower case, subject first, no full stop.
	Message string
	// Try is what to do about it; several lines are several things to try. "" where that is plain.
	Try string
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

// Is tells whether err is, or wraps, an [Error] with that code.
func Is(err error, code string) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}

func wrong(code, try string, err error, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Try: try, Err: err}
}
