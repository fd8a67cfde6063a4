package upstream

import "strings"

// Kind is why there is no program.
type Kind string

// The kinds.
const (
	GoMissing      Kind = "go-missing"      // there is no toolchain
	VersionUnknown Kind = "version-unknown" // there is no such release, or none to be had
	BuildFailed    Kind = "build-failed"
)

// Error is why there is no program. It does not name the module.
type Error struct {
	Kind    Kind
	Message string
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

func lastLines(text string, most int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}
