package vcenter

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25/types"
)

// Do runs f, one exchange over SOAP, within the call timeout. Several exchanges must be several Dos: otherwise their sum
// is bounded by the timeout of one, and a slow vCenter counts as unreachable. Do does not wait for a connection: without
// one it immediately returns an error that wraps [ErrNotConnected]. If the session has expired, it runs f once more on a
// new one. It adds the vCenter's name to f's error, and the missing privilege if the vCenter denied the call.
func (c *Client) Do(ctx context.Context, f func(context.Context, *Session) error) error {
	s, err := c.Session()
	if err != nil {
		return err
	}
	err = c.try(ctx, time.Now().Add(c.cfg.CallTimeout), s, f)
	if expired(err) {
		// Run logs in again. The time that takes must not count for the call on the new session.
		waitCtx, cancel := context.WithTimeout(ctx, c.cfg.CallTimeout)
		defer cancel()
		if s, waitErr := c.Wait(waitCtx); waitErr == nil {
			err = c.try(ctx, time.Now().Add(c.cfg.CallTimeout), s, f)
		}
	}
	if err != nil {
		return fmt.Errorf("vcenter %q: %w", c.cfg.Name, withMissingPrivileges(err))
	}
	return nil
}

// try runs f on s until the deadline. If f's error puts s in doubt, it reports that to Run.
func (c *Client) try(parent context.Context, deadline time.Time, s *Session, f func(context.Context, *Session) error) error {
	ctx, cancel := context.WithDeadline(parent, deadline)
	defer cancel()
	err := f(ctx, s)
	// An error after the caller canceled does not concern the vCenter.
	if err != nil && parent.Err() == nil && (expired(err) || unreachable(err)) {
		c.suspect(s, err)
	}
	return err
}

// Changed returns the current state, and a channel that closes when the state changes.
func (c *Client) Changed() (State, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state, c.changed
}

var (
	// ErrInvalidLogin reports that the vCenter refused the credentials.
	ErrInvalidLogin = errors.New("login refused: wrong user name or password")
	// ErrNoCredentials reports that there are no credentials to log in with.
	ErrNoCredentials = errors.New("no credentials")
	// ErrCertificate reports that the vCenter's certificate is not trusted, or cannot be verified.
	ErrCertificate = errors.New("certificate is not trusted")
	// ErrNotConnected reports that there is no session at the moment; the reason is joined to it.
	ErrNotConnected = errors.New("not connected")
)

// errManager is wrapped by the errors of a session manager.
var errManager = errors.New("no session to share")

// expired reports whether err means that the session has expired.
func expired(err error) bool {
	return fault.Is(err, &types.NotAuthenticated{}) || unauthorized(err)
}

// unauthorized reports whether err is, or wraps, a REST status 401; govmomi recognizes it only unwrapped.
func unauthorized(err error) bool { return hasStatus(err, http.StatusUnauthorized) }

// NotFound reports whether err is, or wraps, a REST status 404: the tag or category does not exist.
func NotFound(err error) bool { return hasStatus(err, http.StatusNotFound) }

func hasStatus(err error, code int) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if rest.IsStatusError(err, code) {
			return true
		}
	}
	return false
}

// unreachable reports whether err comes from the network path rather than from the vCenter: no response, not in time, or
// not in a vSphere protocol.
func unreachable(err error) bool {
	var (
		urlErr *url.Error
		netErr net.Error
		xmlErr *xml.SyntaxError
	)
	return errors.As(err, &urlErr) || errors.As(err, &netErr) || errors.As(err, &xmlErr) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.DeadlineExceeded)
}

// Gone reports whether err means that the managed object no longer exists.
func Gone(err error) bool {
	return fault.Is(err, &types.ManagedObjectNotFound{})
}

// reason classifies the errors of a connection by the pause before the next attempt.
type reason string

const (
	reasonNone        reason = ""
	reasonLogin       reason = "login"       // credentials refused
	reasonCredentials reason = "credentials" // no credentials
	reasonTrust       reason = "trust"       // certificate not trusted
	reasonFault       reason = "fault"       // a fault from the vCenter or a session manager
	reasonUnreachable reason = "silence"     // no response
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
	return reasonUnreachable
}

// Lacking returns the privileges that an account lacks according to a fault, "needs Cns.Searchable on Folder:group-d1". It
// returns "" for any other fault, or if the vCenter does not name them. The fault's own message never does.
func Lacking(f types.BaseMethodFault) string {
	b, ok := f.(types.BaseNoPermission)
	if !ok {
		return ""
	}
	no := b.GetNoPermission()
	var all []string
	for _, m := range no.MissingPrivileges {
		all = append(all, strings.Join(m.PrivilegeIds, ", ")+onObject(m.Entity))
	}
	if len(all) == 0 && no.PrivilegeId != "" { // before vSphere 8
		var object types.ManagedObjectReference
		if no.Object != nil {
			object = *no.Object
		}
		all = append(all, no.PrivilegeId+onObject(object))
	}
	if len(all) == 0 {
		return ""
	}
	return "needs " + strings.Join(all, "; ")
}

func onObject(object types.ManagedObjectReference) string {
	if object.Value == "" {
		return ""
	}
	return " on " + object.String()
}

// Denied reports whether err means that the account lacks a privilege.
func Denied(err error) bool {
	var f types.BaseNoPermission
	_, ok := fault.As(err, &f)
	return ok
}

// withMissingPrivileges adds the missing privileges to an error.
func withMissingPrivileges(err error) error {
	var f types.BaseNoPermission
	if _, ok := fault.As(err, &f); !ok {
		return err
	}
	if needs := Lacking(f.GetNoPermission()); needs != "" && !strings.Contains(err.Error(), needs) {
		return fmt.Errorf("%w (%s)", err, needs)
	}
	return err
}
