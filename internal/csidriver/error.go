package csidriver

import "fmt"

// Codes of an [Error]: stable kebab-case ids.
const (
	Usage           = "usage"
	GoMissing       = "go-missing"
	VersionUnknown  = "csi-version-unknown"
	BuildFailed     = "csi-build-failed"
	ManifestMissing = "csi-manifest-missing"
)

// Error is what is wrong with a source, in words for whoever named it.
type Error struct {
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

func wrong(code, try string, err error, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Try: try, Err: err}
}
