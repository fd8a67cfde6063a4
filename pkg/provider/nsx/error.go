package nsx

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

var (
	// ErrCredentials reports that NSX refused the credentials, or locked the account.
	ErrCredentials = errors.New("login refused")
	// ErrNoCredentials reports that there are no credentials to log in with.
	ErrNoCredentials = errors.New("no credentials")
	// ErrUnreachable reports that there was no answer, or one of a proxy before NSX.
	ErrUnreachable = errors.New("no answer")
	// ErrBusy reports that NSX has answered for too long that it has no time: 429 or 503.
	ErrBusy = errors.New("busy")
	// ErrCertificate reports that the certificate of the manager is not trusted.
	ErrCertificate = vcenter.ErrCertificate
)

// Error is an answer of NSX that refuses a call.
type Error struct {
	// Status is that of HTTP.
	Status int
	// Code and Module are what NSX has for the error; 0 and "" if the answer is not NSX's.
	Code    int
	Module  string
	Message string
	// Call is the call that was refused: "PUT /infra/lb-pools/one".
	Call string
}

// Error implements error.
func (e *Error) Error() string {
	text := strings.TrimSuffix(strings.TrimSpace(e.Message), ".")
	if text == "" {
		text = http.StatusText(e.Status)
	}
	if e.Code == 0 {
		return fmt.Sprintf("%s: %s (status %d)", e.Call, text, e.Status)
	}
	return fmt.Sprintf("%s: %s (code %d)", e.Call, text, e.Code)
}

// Codes of NSX that callers branch on.
const (
	codeBadToken   = 98
	codeNotAllowed = 401
	codeBadLogin   = 403
	codeInUse      = 500030
	codePurging    = 500045
	codeBadPath    = 500012
)

// NotFound reports whether err means that the object does not exist.
func NotFound(err error) bool {
	return isError(err, func(e *Error) bool { return e.Status == http.StatusNotFound })
}

// Conflict reports whether err means that the object has changed, or exists already.
func Conflict(err error) bool {
	return isError(err, func(e *Error) bool {
		return e.Status == http.StatusConflict || e.Status == http.StatusPreconditionFailed
	})
}

// InUse reports whether err means that another object names the object, or is below it.
func InUse(err error) bool { return isError(err, func(e *Error) bool { return e.Code == codeInUse }) }

// Purging reports whether err means that an object of this path was deleted a short time ago: NSX takes the path again later.
func Purging(err error) bool {
	return isError(err, func(e *Error) bool { return e.Code == codePurging })
}

// BadPath reports whether err means that the request names a path at which there is no object.
func BadPath(err error) bool {
	return isError(err, func(e *Error) bool { return e.Code == codeBadPath })
}

// Denied reports whether err means that the user's role does not allow the call.
func Denied(err error) bool {
	return isError(err, func(e *Error) bool {
		return e.Status == http.StatusForbidden && e.Code != codeBadLogin && e.Code != codeBadToken
	})
}

func isError(err error, is func(*Error) bool) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && is(e)
}

// maxMessage limits what an error repeats of an answer that is not NSX's, in bytes.
const maxMessage = 200

// refusal returns the error of an answer.
func refusal(call string, status int, body []byte) *Error {
	var said struct {
		Code    int    `json:"error_code"`
		Message string `json:"error_message"`
		Module  string `json:"module_name"`
		Related []struct {
			Message string `json:"error_message"`
		} `json:"related_errors"`
	}
	e := &Error{Status: status, Call: call}
	if json.Unmarshal(body, &said) != nil || said.Message == "" {
		if text := strings.TrimSpace(string(body)); text != "" && len(text) <= maxMessage && utf8.ValidString(text) && !strings.HasPrefix(text, "<") {
			e.Message = text
		}
		return e
	}
	e.Code, e.Module, e.Message = said.Code, said.Module, said.Message
	for _, r := range said.Related {
		e.Message += "; " + r.Message
	}
	return e
}

// unreachable returns the error of an exchange without an answer.
func unreachable(call string, err error) error {
	if errors.Is(err, ErrCertificate) {
		return fmt.Errorf("%s: %w", call, err)
	}
	return fmt.Errorf("%s: %w: %w", call, ErrUnreachable, err)
}

// Call describes a call that was made to NSX.
type Call struct {
	// Method is the verb and the path without identifiers: "PUT /infra/lb-pools/{id}".
	Method string
	// Result is as that of [vcenter.Call].
	Result   string
	Duration time.Duration
}

// result classifies a call, in the words of [vcenter.Call].
func result(parent context.Context, status int, err error) string {
	var netErr net.Error
	switch {
	case err != nil && errors.Is(parent.Err(), context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		return "timeout"
	case err != nil, status >= http.StatusBadGateway && status <= http.StatusGatewayTimeout:
		return "unreachable"
	case status >= http.StatusBadRequest:
		return "error"
	}
	return "ok"
}

// methodOf names a call without identifiers.
func methodOf(verb, path string) string {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	if parts[0] == "infra" && (len(parts) < 2 || parts[1] != "realized-state") {
		for i := 2; i < len(parts); i += 2 {
			parts[i] = "{id}"
		}
	}
	return verb + " /" + strings.Join(parts, "/")
}
