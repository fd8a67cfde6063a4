package vcenter

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
)

// Client is one vCenter's connection. Make one with [New] and give it a goroutine with [Client.Run]; all other methods
// may be called from any goroutine, before, during and after Run.
type Client struct {
	cfg   Config
	fresh chan struct{} // the credentials may have changed
	doubt chan struct{} // a call met an error that puts the session in doubt

	logins *logins
	rest   restSide
	told   outcome     // last; used by Run alone
	used   Credentials // that the last login succeeded with; used by Run alone

	mu      sync.Mutex
	sess    *Session
	state   State
	changed chan struct{} // closed and replaced at every change of state
	// connected says that there ever was a connection.
	connected bool
}

// New returns a client that is not connected yet. It makes no call.
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
		rest:    restSide{turn: make(chan struct{}, 1)},
		changed: make(chan struct{}),
	}, nil
}

// Name returns the name of this vCenter in errors and logs.
func (c *Client) Name() string { return c.cfg.Name }

// Server returns the host this client talks to.
func (c *Client) Server() string { return c.cfg.Server }

// CredentialsChanged says that the credentials func may have something new to tell. A client that waits to try again
// tries at once; one that is connected logs in anew if they differ and then ends the old session.
func (c *Client) CredentialsChanged() { notify.Wake(c.fresh) }

// Run keeps the client connected until ctx ends, then logs out and returns nil. It is called once.
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

// pause returns how long to wait after an attempt; zero when there is no need for another.
func (c *Client) pause(failures int, err error) time.Duration {
	switch reasonOf(err) {
	case reasonNone, reasonLogin: // logins knows how long
		return 0
	case reasonSilence:
		return c.cfg.Retry.pause(failures)
	}
	return c.cfg.FaultRetry.pause(failures)
}

// idle waits for a reason to look at the connection again: pause is one when it is not zero, and a call that fails is
// one on a connection that works. It returns false when new credentials ended the wait, which makes earlier failures
// count for nothing.
func (c *Client) idle(ctx context.Context, connected bool, pause time.Duration) bool {
	var retry <-chan time.Time
	if pause > 0 {
		t := time.NewTimer(pause)
		defer t.Stop()
		retry = t.C
	}
	doubt := c.doubt
	if !connected {
		doubt = nil // while nothing works, one more call that fails is no reason to come back sooner
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

// establish makes sure that there is a session, by checking the one at hand or by logging in. It may return both true
// and an error: newer credentials were refused, the session made with older ones works. Then, and when there is none
// because of a refusal, wait is the time until the credentials may be tried again.
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

// exchange logs in and takes the new session in place of the old one, if there is one, which ends when the new one is
// there: for that moment there are two.
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

// rotated notes what a login succeeded with.
func (c *Client) rotated(creds Credentials) {
	if c.used != (Credentials{}) && c.used != creds {
		c.mu.Lock()
		c.state.Rotations++
		c.mu.Unlock()
	}
	c.used = creds
}

// replace makes s the current session, which may be nil, and ends what runs on the one before.
func (c *Client) replace(s *Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sess != nil {
		c.sess.end()
	}
	c.sess = s
}

// announce publishes the outcome of an attempt. It is logged when it is of another kind than the one before.
func (c *Client) announce(connected bool, err error) {
	s := c.setState(connected, err)
	news := outcome{connected, reasonOf(err)}
	switch {
	case news == c.told && err != nil:
		c.cfg.Logger.Debug("vcenter connection", "connected", connected, "err", err)
	case news == c.told:
	case err != nil:
		c.cfg.Logger.Warn("vcenter connection", "connected", connected, "err", err)
	default:
		c.cfg.Logger.Info("vcenter connection", "connected", connected)
	}
	c.told = news
	if c.cfg.OnState != nil {
		c.cfg.OnState(s)
	}
}

// outcome is what matters of an attempt's outcome to whoever reads the log.
type outcome struct {
	connected bool
	reason    reason
}

// close logs out, also when ctx has ended, but does not wait long for a vCenter that no longer answers.
func (c *Client) close(ctx context.Context) {
	s := c.current()
	c.replace(nil)
	c.setState(false, errors.New("closed"))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(c.cfg.CallTimeout, farewell))
	defer cancel()
	var both sync.WaitGroup
	both.Go(func() { c.closeREST(ctx) }) // at the same time: one that hangs keeps the other from nothing
	if s != nil {
		s.logout(ctx)
	}
	both.Wait()
}
