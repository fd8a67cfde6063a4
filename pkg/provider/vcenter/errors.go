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
	// ErrNotConnected says that there is no session at the moment; it is joined with the reason.
	ErrNotConnected = errors.New("not connected")
)

// expired reports whether err says that the session it was met on is no longer one.
func expired(err error) bool {
	return fault.Is(err, &types.NotAuthenticated{}) || unauthorized(err)
}

// unauthorized reports whether err is, or wraps, a REST answer 401, which govmomi recognises only unwrapped.
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
