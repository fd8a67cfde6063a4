package fault

import (
	"errors"
	"fmt"
	"strings"
)

// Refusal is the reason why a fault was not injected or healed. Nothing was changed.
type Refusal struct {
	// Code is the code of api.Error: not-found, ambiguous, conflict, invalid, unsupported.
	Code    string
	Message string
	// Try suggests what to do.
	Try string
}

func (r *Refusal) Error() string { return r.Message }

// Refuse returns a Refusal of a plan: the target is in the wrong state.
func Refuse(format string, args ...any) error {
	return &Refusal{Code: "conflict", Message: fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) error {
	return &Refusal{Code: "invalid", Message: fmt.Sprintf(format, args...)}
}

// about prefixes an error with its target, unless the message names it. A refusal stays a refusal.
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

// names reports whether message contains name as a word.
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

// targetError is an error with another message.
type targetError struct {
	message string
	err     error
}

func (e *targetError) Error() string { return e.message }
func (e *targetError) Unwrap() error { return e.err }
