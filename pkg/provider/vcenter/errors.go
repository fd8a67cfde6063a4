package vcenter

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25/types"
)

var (
	// ErrInvalidLogin says that the vCenter refused the credentials.
	ErrInvalidLogin = errors.New("login refused: wrong user name or password")
	// ErrNoCredentials says that there are no credentials to log in with.
	ErrNoCredentials = errors.New("no credentials")
	// ErrCertificate says that the vCenter's certificate is not to be trusted, or that it cannot be told whether it is.
	ErrCertificate = errors.New("certificate is not trusted")
	// ErrNotConnected says that there is no session at the moment; it is joined with the reason.
	ErrNotConnected = errors.New("not connected")
)

// errManager is in the errors of a session manager.
var errManager = errors.New("no session to share")

// expired reports whether err says that the session it was met on is no longer one.
func expired(err error) bool {
	return fault.Is(err, &types.NotAuthenticated{}) || unauthorized(err)
}

// unauthorized reports whether err is, or wraps, a REST answer 401, which govmomi recognizes only unwrapped.
func unauthorized(err error) bool { return hasStatus(err, http.StatusUnauthorized) }

// NotFound reports whether err is, or wraps, a REST answer 404: the tag or category asked about no longer exists.
func NotFound(err error) bool { return hasStatus(err, http.StatusNotFound) }

func hasStatus(err error, code int) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if rest.IsStatusError(err, code) {
			return true
		}
	}
	return false
}

// unreachable reports whether err comes from the way to the vCenter rather than from the vCenter: nobody answers, not
// in time, or not in a language of vSphere.
func unreachable(err error) bool {
	var (
		urlErr *url.Error
		netErr net.Error
		xmlErr *xml.SyntaxError
	)
	return errors.As(err, &urlErr) || errors.As(err, &netErr) || errors.As(err, &xmlErr) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.DeadlineExceeded)
}

// Gone reports whether err says that the object asked about no longer exists.
func Gone(err error) bool {
	return fault.Is(err, &types.ManagedObjectNotFound{})
}

// reason sorts the errors that keep a client from its vCenter, by what is to be done about them.
type reason string

const (
	reasonNone        reason = ""
	reasonLogin       reason = "login"       // other credentials
	reasonCredentials reason = "credentials" // any credentials
	reasonTrust       reason = "trust"       // another certificate, or authority
	reasonFault       reason = "fault"       // what the vCenter, or a session manager, says
	reasonSilence     reason = "silence"     // nothing here: nobody answers
)

func reasonOf(err error) reason {
	switch {
	case err == nil:
		return reasonNone
	case errors.Is(err, ErrInvalidLogin):
		return reasonLogin
	case errors.Is(err, ErrNoCredentials):
		return reasonCredentials
	case errors.Is(err, ErrCertificate):
		return reasonTrust
	case errors.Is(err, errManager) || !unreachable(err):
		return reasonFault
	}
	return reasonSilence
}
