package vcenter

import (
	"context"
	"fmt"
	"time"
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
