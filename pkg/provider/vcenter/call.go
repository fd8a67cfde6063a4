package vcenter

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/vmware/govmomi/vapi/rest"
)

// Do runs f, one exchange over SOAP, within the call timeout; what takes several exchanges is several Dos, or their sum
// is measured by the time of one and a slow vCenter taken for a dead one. It does not wait for a connection: without one it returns
// an error that wraps [ErrNotConnected] at once. When f finds the session expired, f is run once more on a new one.
// f's error is returned with the vCenter's name before it.
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
		return fmt.Errorf("vcenter %q: %w", c.cfg.Name, err)
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

// DoREST is [Client.Do] for the REST API, which has a session of its own: it is opened at the first call, and again
// when it has expired, with the credentials of that moment. The login has a call timeout of its own, f another. Trouble
// with REST does not touch the SOAP side.
func (c *Client) DoREST(ctx context.Context, f func(context.Context, *rest.Client) error) error {
	s, err := c.Session()
	if err != nil {
		return err
	}
	timed := func(rc *rest.Client) error {
		ctx, cancel := context.WithTimeout(ctx, c.cfg.CallTimeout)
		defer cancel()
		return f(ctx, rc)
	}
	rc, err := s.restClient(ctx, nil)
	if err == nil {
		if err = timed(rc); expired(err) {
			if rc, err = s.restClient(ctx, rc); err == nil {
				err = timed(rc)
			}
		}
	}
	if err != nil {
		return fmt.Errorf("vcenter %q: rest: %w", c.cfg.Name, err)
	}
	return nil
}

// restClient returns the logged-in REST client, and logs in when there is none or when it is the stale one.
func (s *Session) restClient(ctx context.Context, stale *rest.Client) (*rest.Client, error) {
	s.restMu.Lock()
	defer s.restMu.Unlock()
	if err := s.ctx.Err(); err != nil {
		return nil, fmt.Errorf("%w: session ended", ErrNotConnected)
	}
	if s.rest != nil && s.rest != stale {
		return s.rest, nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.CallTimeout)
	defer cancel()
	creds, err := s.cfg.Credentials(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoCredentials, err)
	}
	rc := rest.NewClient(s.Vim)
	if err := rc.Login(ctx, url.UserPassword(creds.User, creds.Password)); err != nil {
		if unauthorized(err) {
			err = fmt.Errorf("user %q: %w", creds.User, ErrInvalidLogin)
		}
		return nil, fmt.Errorf("log in: %w", err)
	}
	s.rest = rc
	return rc, nil
}
