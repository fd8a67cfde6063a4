package vcenter

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
)

// Client is one vCenter's connection. Create it with [New] and call [Client.Run] in a goroutine. All other methods are
// safe for concurrent use, before, during and after Run.
type Client struct {
	cfg   Config
	fresh chan struct{} // the credentials may have changed
	doubt chan struct{} // a call met an error that puts the session in doubt

	logins *logins
	rest   restState
	logged outcome     // last logged; used only by Run
	used   Credentials // of the last successful login; used only by Run

	mu      sync.Mutex
	sess    *Session
	state   State
	changed chan struct{} // closed and replaced at every change of state
	// connected reports whether there ever was a connection.
	connected bool
}

// New returns a client that is not connected yet. It makes no calls.
func New(cfg Config) (*Client, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Client{
		cfg:     cfg,
		fresh:   make(chan struct{}, 1),
		doubt:   make(chan struct{}, 1),
		logins:  &logins{backoff: cfg.LoginRetry},
		rest:    restState{lock: make(chan struct{}, 1)},
		changed: make(chan struct{}),
	}, nil
}

// Name returns the name of this vCenter in errors and logs.
func (c *Client) Name() string { return c.cfg.Name }

// Server returns the host that this client connects to.
func (c *Client) Server() string { return c.cfg.Server }

// CredentialsChanged notifies the client that Credentials may return new values. A client that waits to retry does so at
// once; a connected client logs in again if they differ, and then ends the old session.
func (c *Client) CredentialsChanged() { notify.Wake(c.fresh) }

// Run keeps the client connected until ctx ends; then it logs out and returns nil. It must be called once.
func (c *Client) Run(ctx context.Context) error {
	defer c.close(ctx)
	failures := 0
	for ctx.Err() == nil {
		connected, wait, err := c.establish(ctx)
		if ctx.Err() != nil {
			break
		}
		c.announce(connected, err)
		if failures++; err == nil {
			failures = 0
		}
		if !c.idle(ctx, connected, max(wait, c.pause(failures, err))) {
			failures = 0
		}
	}
	return nil
}

// pause returns the pause after an attempt; zero if no other attempt is needed.
func (c *Client) pause(failures int, err error) time.Duration {
	switch reasonOf(err) {
	case reasonNone, reasonLogin: // logins knows how long
		return 0
	case reasonUnreachable:
		return c.cfg.Retry.pause(failures)
	}
	return c.cfg.FaultRetry.pause(failures)
}

// idle waits until the connection must be checked again: after pause if it is not zero, or on a working connection when a
// call fails. It returns false if new credentials ended the wait, after which earlier failures do not count.
func (c *Client) idle(ctx context.Context, connected bool, pause time.Duration) bool {
	var retry <-chan time.Time
	if pause > 0 {
		t := time.NewTimer(pause)
		defer t.Stop()
		retry = t.C
	}
	doubt := c.doubt
	if !connected {
		doubt = nil // without a connection, a failing call must not shorten the pause
	}
	select {
	case <-retry:
	case <-doubt:
	case <-ctx.Done():
	case <-c.fresh:
		return false
	}
	return true
}

// establish makes sure that there is a session, by checking the current one or by logging in. It may return both true and
// an error: newer credentials were refused, but the session of the older ones works. After a refusal, wait is the time
// until the credentials may be tried again.
func (c *Client) establish(ctx context.Context) (connected bool, wait time.Duration, err error) {
	creds, credsErr := c.cfg.Credentials(ctx)
	if credsErr == nil && !creds.complete() {
		credsErr = errors.New("user or password is empty")
	}
	old := c.current()
	if credsErr == nil {
		wait, err = c.logins.wait(soapAPI, creds)
	}
	if old != nil && (credsErr != nil || creds == old.creds || wait > 0) {
		if creds == old.creds {
			wait, err = 0, nil
		}
		alive, aliveErr := old.alive(ctx)
		switch {
		case aliveErr != nil:
			return false, 0, aliveErr
		case alive:
			return true, wait, err
		}
		c.replace(nil)
		old = nil
		if credsErr == nil {
			wait, err = c.logins.wait(soapAPI, creds)
		}
	}
	switch {
	case credsErr != nil:
		return false, 0, fmt.Errorf("%w: %w", ErrNoCredentials, credsErr)
	case wait > 0:
		return false, wait, err
	}
	return c.exchange(ctx, old, creds)
}

// exchange logs in and replaces the old session, if there is one. The old session ends after the new one has started, so
// for a short time there are two.
func (c *Client) exchange(ctx context.Context, old *Session, creds Credentials) (connected bool, wait time.Duration, err error) {
	s, err := login(ctx, &c.cfg, creds)
	if err == nil {
		c.logins.accepted(soapAPI, creds)
		c.rotated(creds)
		c.replace(s)
		if old != nil {
			old.logout(ctx)
		}
		return true, 0, nil
	}
	if errors.Is(err, ErrInvalidLogin) {
		c.logins.refused(soapAPI, creds, err)
		wait, _ = c.logins.wait(soapAPI, creds)
	}
	if old == nil {
		return false, wait, err
	}
	alive, aliveErr := old.alive(ctx)
	return alive && aliveErr == nil, wait, err
}

func (c *Client) rotated(creds Credentials) {
	if c.used != (Credentials{}) && c.used != creds {
		c.mu.Lock()
		c.state.Rotations++
		c.mu.Unlock()
	}
	c.used = creds
}

// replace makes s, which may be nil, the current session and ends the one before.
func (c *Client) replace(s *Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sess != nil {
		c.sess.end()
	}
	c.sess = s
}

// announce publishes the outcome of an attempt. It logs it if it differs in kind from the one before.
func (c *Client) announce(connected bool, err error) {
	s := c.setState(connected, err)
	news := outcome{connected, reasonOf(err)}
	switch {
	case news == c.logged && err != nil:
		c.cfg.Logger.Debug("vcenter connection", "connected", connected, "err", err)
	case news == c.logged:
	case err != nil:
		c.cfg.Logger.Warn("vcenter connection", "connected", connected, "err", err)
	default:
		c.cfg.Logger.Info("vcenter connection", "connected", connected)
	}
	c.logged = news
	if c.cfg.OnState != nil {
		c.cfg.OnState(s)
	}
}

// outcome is the part of an attempt's outcome that the log reports.
type outcome struct {
	connected bool
	reason    reason
}

// close logs out even if ctx has ended, but does not wait long for a vCenter that does not respond.
func (c *Client) close(ctx context.Context) {
	s := c.current()
	c.replace(nil)
	c.setState(false, errors.New("closed"))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(c.cfg.CallTimeout, shutdownTimeout))
	defer cancel()
	var both sync.WaitGroup
	both.Go(func() { c.closeREST(ctx) }) // concurrently, so that neither delays the other
	if s != nil {
		s.logout(ctx)
	}
	both.Wait()
}
