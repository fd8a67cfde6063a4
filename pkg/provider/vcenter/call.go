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

// Do runs f, one exchange over SOAP, within the call timeout; what takes several exchanges is several Dos, or their sum
// is measured by the time of one and a slow vCenter taken for a dead one. It does not wait for a connection: without one it returns
// an error that wraps [ErrNotConnected] at once. When f finds the session expired, f is run once more on a new one.
// f's error is returned with the vCenter's name before it and, where the account is not allowed to, with what it lacks.
func (c *Client) Do(ctx context.Context, f func(context.Context, *Session) error) error {
	s, err := c.Session()
	if err != nil {
		return err
	}
	err = c.try(ctx, time.Now().Add(c.cfg.CallTimeout), s, f)
	if expired(err) {
		// Run logs in again meanwhile. What that takes says nothing about the call on the new session.
		waitCtx, cancel := context.WithTimeout(ctx, c.cfg.CallTimeout)
		defer cancel()
		if s, waitErr := c.Wait(waitCtx); waitErr == nil {
			err = c.try(ctx, time.Now().Add(c.cfg.CallTimeout), s, f)
		}
	}
	if err != nil {
		return fmt.Errorf("vcenter %q: %w", c.cfg.Name, lacking(err))
	}
	return nil
}

// try runs f on s until the deadline, and puts s in doubt when f's error does.
func (c *Client) try(parent context.Context, deadline time.Time, s *Session, f func(context.Context, *Session) error) error {
	ctx, cancel := context.WithDeadline(parent, deadline)
	defer cancel()
	err := f(ctx, s)
	// A caller that lost interest says nothing about the vCenter.
	if err != nil && parent.Err() == nil && (expired(err) || unreachable(err)) {
		c.suspect(s, err)
	}
	return err
}

// Changed returns the state at this moment, and a channel that is closed when there is a newer one.
func (c *Client) Changed() (State, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state, c.changed
}

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

// Lacking is what the account would have to be allowed for what a vCenter has refused it, "needs Cns.Searchable on
// Folder:group-d1"; empty for any other fault, and where the vCenter does not say. Its own message never says.
func Lacking(f types.BaseMethodFault) string {
	b, ok := f.(types.BaseNoPermission)
	if !ok {
		return ""
	}
	no := b.GetNoPermission()
	var all []string
	for _, m := range no.MissingPrivileges {
		all = append(all, strings.Join(m.PrivilegeIds, ", ")+on(m.Entity))
	}
	if len(all) == 0 && no.PrivilegeId != "" { // before vSphere 8
		var object types.ManagedObjectReference
		if no.Object != nil {
			object = *no.Object
		}
		all = append(all, no.PrivilegeId+on(object))
	}
	if len(all) == 0 {
		return ""
	}
	return "needs " + strings.Join(all, "; ")
}

func on(object types.ManagedObjectReference) string {
	if object.Value == "" {
		return ""
	}
	return " on " + object.String()
}

// Denied reports whether err says that the account may not do what was asked.
func Denied(err error) bool {
	var f types.BaseNoPermission
	_, ok := fault.As(err, &f)
	return ok
}

// lacking adds to an error what [Lacking] says of it.
func lacking(err error) error {
	var f types.BaseNoPermission
	if _, ok := fault.As(err, &f); !ok {
		return err
	}
	if needs := Lacking(f.GetNoPermission()); needs != "" && !strings.Contains(err.Error(), needs) {
		return fmt.Errorf("%w (%s)", err, needs)
	}
	return err
}
