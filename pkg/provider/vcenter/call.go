package vcenter

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25/soap"
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

// retryTransport retries a call when the response asks for it: an overloaded vCenter, or a proxy in front of it, rejects calls with
// status 429 or 503 and Retry-After. A rejected call was not executed, so any call may be repeated. Without that, a chain of
// calls never completes at a vCenter that limits concurrency, and starts over every time.
//
// The response is returned if it has no Retry-After, or if the deadline leaves no time for another try. Request bodies are
// kept in memory; those of calls are small.
type retryTransport struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (p retryTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	body, err := wholeBody(req)
	if err != nil {
		return nil, err
	}
	for {
		if body != nil {
			req = req.Clone(ctx)
			req.Body = io.NopCloser(bytes.NewReader(body))
		}
		res, err := p.next.RoundTrip(req)
		if err != nil {
			return res, err
		}
		wait, ok := retryAfter(res)
		if !ok || !hasTime(ctx, wait) {
			return res, nil
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return res, nil // the caller gets its context's error when it reads
		}
		_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)) // so that the connection can be reused
		_ = res.Body.Close()
	}
}

// wholeBody reads and closes a request's body; nil if it has none.
func wholeBody(req *http.Request) ([]byte, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return nil, nil
	}
	body, err := io.ReadAll(req.Body)
	return body, errors.Join(err, req.Body.Close())
}

// maxRetryAfter is the longest Retry-After that is honored.
const maxRetryAfter = 30 * time.Second

// retryAfter returns when a rejected call may be tried again. It ignores dates, because clocks differ.
func retryAfter(res *http.Response) (time.Duration, bool) {
	if res.StatusCode != http.StatusServiceUnavailable && res.StatusCode != http.StatusTooManyRequests {
		return 0, false
	}
	seconds, err := strconv.Atoi(res.Header.Get("Retry-After"))
	wait := time.Duration(seconds) * time.Second
	if err != nil || seconds <= 0 || wait > maxRetryAfter {
		return 0, false
	}
	return wait, true
}

// hasTime reports whether ctx allows more time than a pause.
func hasTime(ctx context.Context, pause time.Duration) bool {
	end, ok := ctx.Deadline()
	return !ok || time.Until(end) > pause
}

// Call describes a call that was made to a vCenter.
type Call struct {
	// Method is the SOAP method ("FindByUuid") or the verb and path of a REST call, without identifiers and with its
	// action, if any ("GET /com/vmware/cis/tagging/tag",
	// "POST /com/vmware/cis/tagging/tag-association?~action=list-attached-objects-on-tags").
	Method string
	// Result is "ok", "error" for a fault, "timeout", "unreachable" (also for a proxy's 502, 503 or 504), or "canceled" if the
	// caller's context was canceled, as at the end of the process.
	Result string
	// Duration is the time from the request to the response.
	Duration time.Duration
}

// The values of [Call.Result].
const (
	resultOK          = "ok"
	resultError       = "error"
	resultTimeout     = "timeout"
	resultUnreachable = "unreachable"
	resultCanceled    = "canceled"
)

// observe calls OnCall for the calls that pass through next.
func (c *Config) observe(next soap.RoundTripper) soap.RoundTripper {
	if c.OnCall == nil {
		return next
	}
	return soapObserver{next: next, onCall: c.OnCall}
}

type soapObserver struct {
	next   soap.RoundTripper
	onCall func(Call)
}

// RoundTrip implements [soap.RoundTripper].
func (o soapObserver) RoundTrip(ctx context.Context, req, res soap.HasFault) error {
	began := time.Now()
	err := o.next.RoundTrip(ctx, req, res)
	o.onCall(Call{Method: soapMethod(req), Result: soapResult(ctx, err), Duration: time.Since(began)})
	return err
}

// soapMethod names a call by the type of its body, which is the method's name plus "Body".
func soapMethod(req soap.HasFault) string {
	t := reflect.TypeOf(req)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return strings.TrimSuffix(t.Name(), "Body")
}

func soapResult(ctx context.Context, err error) string {
	switch {
	case err == nil:
		return resultOK
	case soap.IsSoapFault(err):
		return resultError
	}
	return failureResult(ctx, err)
}

// failureResult classifies a call without a response.
func failureResult(ctx context.Context, err error) string {
	var netErr net.Error
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return resultCanceled
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		return resultTimeout
	}
	return resultUnreachable
}

// observeHTTP is observe for REST.
func (c *Config) observeHTTP(next http.RoundTripper) http.RoundTripper {
	if c.OnCall == nil {
		return next
	}
	return restObserver{next: next, onCall: c.OnCall}
}

type restObserver struct {
	next   http.RoundTripper
	onCall func(Call)
}

// RoundTrip implements [http.RoundTripper].
func (o restObserver) RoundTrip(req *http.Request) (*http.Response, error) {
	began := time.Now()
	res, err := o.next.RoundTrip(req)
	o.onCall(Call{Method: restMethod(req), Result: restResult(req.Context(), res, err), Duration: time.Since(began)})
	return res, err
}

func restResult(ctx context.Context, res *http.Response, err error) string {
	switch {
	case err != nil:
		return failureResult(ctx, err)
	case res.StatusCode < http.StatusBadRequest:
		return resultOK
	case res.StatusCode >= http.StatusBadGateway && res.StatusCode <= http.StatusGatewayTimeout:
		return resultUnreachable
	}
	return resultError
}

// restMethod names a REST call without identifiers: path segments like "id:urn:vmomi:InventoryServiceTag:…" or UUIDs.
func restMethod(req *http.Request) string {
	var b strings.Builder
	b.WriteString(req.Method)
	b.WriteByte(' ')
	for segment := range strings.SplitSeq(strings.TrimPrefix(strings.TrimPrefix(req.URL.Path, "/rest"), "/"), "/") {
		if segment == "" || strings.ContainsRune(segment, ':') || len(segment) == 36 && strings.Count(segment, "-") == 4 {
			continue
		}
		b.WriteByte('/')
		b.WriteString(segment)
	}
	for _, key := range []string{"~action", "action"} {
		if action := req.URL.Query().Get(key); action != "" {
			b.WriteString("?" + key + "=" + action)
			break
		}
	}
	return b.String()
}
