package vcenter

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
)

// restState is the REST session. It and the SOAP sessions with the same credentials may outlive each other.
type restState struct {
	lock   chan struct{} // of capacity 1: a lock on the other fields
	client *rest.Client  // nil without a session
	creds  Credentials   // of the session
	shared *Session      // the SOAP session that it shares, or nil if it has a separate one

	// A login with an unknown outcome may have left a session behind: the next one waits.
	failures int
	next     time.Time
	err      error
}

// DoREST is [Client.Do] for the REST API, which has a separate session. The session is opened at the first call, and again
// after it has expired, with the credentials of the SOAP session. The login has separate deadlines; f has the call timeout.
// REST failures do not affect the SOAP session.
func (c *Client) DoREST(ctx context.Context, f func(context.Context, *rest.Client) error) error {
	s, err := c.Session()
	if err != nil {
		return err
	}
	var answered refusals
	timed := func(rc *rest.Client) error {
		ctx, cancel := context.WithTimeout(context.WithValue(ctx, refusalsKey{}, &answered), c.cfg.CallTimeout)
		defer cancel()
		return f(ctx, rc)
	}
	rc, err := c.restClient(ctx, s, nil)
	if err == nil {
		if err = timed(rc); err != nil && (expired(err) || answered.unauthorized.Load()) {
			if rc, err = c.restAgain(ctx, s, rc, err); err == nil {
				err = timed(rc)
			}
		}
	}
	if err != nil {
		return fmt.Errorf("vcenter %q: rest: %w", c.cfg.Name, err)
	}
	return nil
}

// refusals records the statuses of a context's calls. Some of govmomi's calls (GetCategories, GetAttachedTags, …) return
// only the text of an error, without its status 401.
type refusals struct{ unauthorized atomic.Bool }

type refusalsKey struct{}

type recordRefusals struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (t recordRefusals) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := t.next.RoundTrip(req)
	if seen, ok := req.Context().Value(refusalsKey{}).(*refusals); ok && err == nil && res.StatusCode == http.StatusUnauthorized {
		seen.unauthorized.Store(true)
	}
	return res, err
}

// restAgain returns a client to replace one whose session has expired with err.
func (c *Client) restAgain(ctx context.Context, s *Session, stale *rest.Client, err error) (*rest.Client, error) {
	if s.creds.shared() {
		if alive, aliveErr := s.alive(ctx); alive || aliveErr != nil {
			return nil, err // the session has not expired
		}
		c.suspect(s, err)
		waitCtx, cancel := context.WithTimeout(ctx, c.cfg.CallTimeout)
		defer cancel()
		if s, err = c.Wait(waitCtx); err != nil {
			return nil, err
		}
	}
	return c.restClient(ctx, s, stale)
}

// restClient returns the logged-in REST client. It logs in unless there is one for s that is not stale.
func (c *Client) restClient(ctx context.Context, s *Session, stale *rest.Client) (*rest.Client, error) {
	r := &c.rest
	select {
	case r.lock <- struct{}{}:
		defer func() { <-r.lock }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.ctx.Err() != nil {
		return nil, fmt.Errorf("%w: session ended", ErrNotConnected)
	}
	switch {
	case r.client == nil:
	case r.client == stale:
		r.client.CloseIdleConnections()
		r.client = nil
	case r.creds == s.creds && (r.shared == nil || r.shared == s):
		return r.client, nil
	default:
		c.logoutREST(ctx)
	}
	if s.creds.shared() {
		rc := c.newREST()
		if cookie := s.Vim.SessionCookie(); cookie != nil {
			rc.SessionID(cookie.Value)
		}
		r.client, r.creds, r.shared = rc, s.creds, s
		return rc, nil
	}
	if time.Now().Before(r.next) {
		return nil, r.err
	}
	rc, err := c.loginREST(ctx, s)
	if err != nil {
		err = fmt.Errorf("log in: %w", err)
		if unreachable(err) {
			r.failures++
			r.next, r.err = time.Now().Add(c.cfg.FaultRetry.pause(r.failures)), err
		}
		return nil, err
	}
	r.client, r.creds, r.shared = rc, s.creds, nil
	r.failures, r.next = 0, time.Time{}
	return rc, nil
}

// newREST returns a client without a session, with its own connections.
func (c *Client) newREST() *rest.Client {
	sc := newSOAPClient(&c.cfg)
	rc := rest.NewClient(&vim25.Client{Client: sc})
	rc.Client.Transport = c.cfg.observeHTTP(recordRefusals{retryTransport{sc.DefaultTransport()}})
	return rc
}

func (c *Client) loginREST(ctx context.Context, s *Session) (*rest.Client, error) {
	if wait, err := c.logins.wait(restAPI, s.creds); wait > 0 {
		return nil, err
	}
	ctx, stop := extendContext(ctx, shutdownTimeout)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, loginTimeouts*c.cfg.CallTimeout)
	defer cancel()
	rc := c.newREST()
	var err error
	if s.creds.certificate() == nil {
		err = rc.Login(ctx, url.UserPassword(s.creds.User, s.creds.Password))
	} else if signer, issueErr := issue(ctx, &c.cfg, s.Vim, s.creds); issueErr != nil {
		err = issueErr
	} else {
		err = rc.LoginByToken(rc.WithSigner(ctx, signer))
	}
	if unauthorized(err) {
		err = fmt.Errorf("%s: %w", s.creds, ErrInvalidLogin)
		c.logins.refused(restAPI, s.creds, err)
		c.CredentialsChanged() // they may have changed without a notification
	}
	if err != nil {
		rc.CloseIdleConnections()
		return nil, err
	}
	c.logins.accepted(restAPI, s.creds)
	return rc, nil
}

// logoutREST tries to end the session, if there is one. The caller holds turn.
func (c *Client) logoutREST(ctx context.Context) {
	r := &c.rest
	if r.client == nil {
		return
	}
	if r.shared == nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(c.cfg.CallTimeout, shutdownTimeout))
		defer cancel()
		if err := r.client.Logout(ctx); err != nil {
			c.cfg.Logger.Debug("rest logout", "err", err)
		}
	}
	r.client.CloseIdleConnections()
	r.client = nil
}

// closeREST waits for a login in progress, and logs out.
func (c *Client) closeREST(ctx context.Context) {
	select {
	case c.rest.lock <- struct{}{}:
		defer func() { <-c.rest.lock }()
		c.logoutREST(ctx)
	case <-ctx.Done():
	}
}
