package fault

import (
	"errors"
	"fmt"
	"strings"
)

// Refusal says why a fault was not injected, or not healed, with nothing changed.
type Refusal struct {
	// Code is that of api.Error: not-found, ambiguous, conflict, invalid, unsupported.
	Code    string
	Message string
	// Try tells what to do about it.
	Try string
}

func (r *Refusal) Error() string { return r.Message }

// Refuse returns the refusal of a plan: the target is not in a state in which it can be done.
func Refuse(format string, args ...any) error {
	return &Refusal{Code: "conflict", Message: fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) error {
	return &Refusal{Code: "invalid", Message: fmt.Sprintf(format, args...)}
}

// about says what target an error is about, unless its message does. A refusal stays one.
func about(l *lease, n int, err error) error {
	message := err.Error()
	if n >= 0 {
		target := l.Targets[n].Target
		if !names(message, target.Name) {
			message = fmt.Sprintf("%s %q: %s", target.Kind.noun(), target, message)
		}
	}
	if r := (*Refusal)(nil); errors.As(err, &r) {
		return &Refusal{Code: r.Code, Message: message, Try: r.Try}
	}
	return &targetError{message, err}
}

// names tells whether a name is in a message, as a word.
func names(message, name string) bool {
	inWord := func(s string) bool { return strings.ContainsAny(s, "-_.abcdefghijklmnopqrstuvwxyz0123456789") }
	for rest := strings.ToLower(message); ; {
		before, after, found := strings.Cut(rest, strings.ToLower(name))
		if !found {
			return false
		}
		after = strings.TrimLeft(after, ".") + " " // the end of a sentence
		if (before == "" || !inWord(before[len(before)-1:])) && !inWord(after[:1]) {
			return true
		}
		rest = after
	}
}

// targetError is an error with other words.
type targetError struct {
	message string
	err     error
}

func (e *targetError) Error() string { return e.message }
func (e *targetError) Unwrap() error { return e.err }
