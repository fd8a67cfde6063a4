package ccm

import "fmt"

// Error is what is wrong with a source, in words for whoever named it.
type Error struct {
	// Code is a stable kebab-case id: usage, ccm-missing, ccm-not-executable, ccm-wrong-platform, ccm-image-refused,
	// ccm-image-unusable, ccm-archive-broken, ccm-version-unknown, go-missing, ccm-build-failed, ccm-manifest-missing.
	Code    string
	Message string
	// Try is what to do about it; "" when that is plain.
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

func wrong(code string, err error, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Err: err}
}
