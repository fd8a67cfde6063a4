package vcenter

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Client is one vCenter's connection. Make one with [New] and give it a goroutine with [Client.Run]; all other methods
// may be called from any goroutine, before, during and after Run.
type Client struct {
	cfg   Config
	fresh chan struct{} // the credentials may have changed
	doubt chan struct{} // a call met an error that puts the session in doubt

	mu      sync.Mutex
	sess    *Session
	state   State
	changed chan struct{} // closed and replaced at every change of state
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
		changed: make(chan struct{}),
	}, nil
}

// Name returns the name of this vCenter in errors and logs.
func (c *Client) Name() string { return c.cfg.Name }

// Server returns the host this client talks to.
func (c *Client) Server() string { return c.cfg.Server }

// CredentialsChanged says that the credentials func may have something new to tell. A client that waits to try again
// tries at once; one that is connected logs in anew if they differ and then ends the old session.
func (c *Client) CredentialsChanged() { poke(c.fresh) }

// Run keeps the client connected until ctx ends, then logs out and returns nil. It is called once.
func (c *Client) Run(ctx context.Context) error {
	defer c.close(ctx)
	failures := 0
	for ctx.Err() == nil {
		connected, err := c.establish(ctx)
		if ctx.Err() != nil {
			break
		}
		c.announce(connected, err)

		if err == nil {
			failures = 0
		} else {
			failures++
		}
		if !c.idle(ctx, failures, err) {
			failures = 0
		}
	}
	return nil
}

// idle waits for a reason to look at the connection again. After err it waits no longer than the back-off says. It
// returns false when new credentials ended the wait, which makes earlier failures count for nothing.
func (c *Client) idle(ctx context.Context, failures int, err error) bool {
	var retry <-chan time.Time
	if err != nil {
		b := c.cfg.Retry
		if errors.Is(err, ErrInvalidLogin) {
			b = c.cfg.LoginRetry
		}
		t := time.NewTimer(b.pause(failures))
		defer t.Stop()
		retry = t.C
		// While nothing works, one more call that fails is no reason to come back sooner.
		select {
		case <-retry:
		case <-ctx.Done():
		case <-c.fresh:
			return false
		}
		return true
	}
	select {
	case <-c.doubt:
	case <-ctx.Done():
	case <-c.fresh:
		return false
	}
	return true
}

// establish makes sure that there is a session, by checking the one at hand or by logging in. It may return both true
// and an error: newer credentials were refused, the session made with older ones works.
func (c *Client) establish(ctx context.Context) (connected bool, err error) {
	creds, credsErr := c.cfg.Credentials(ctx)
	old := c.current()
	if old != nil && (credsErr != nil || creds == old.creds) {
		alive, err := old.alive(ctx)
		if err != nil {
			return false, err
		}
		if alive {
			return true, nil
		}
		c.replace(nil)
		old = nil
	}
	if credsErr != nil {
		return false, fmt.Errorf("vcenter %q: %w: %w", c.cfg.Name, ErrNoCredentials, credsErr)
	}
	s, err := login(ctx, &c.cfg, creds)
	if err != nil {
		if old == nil {
			return false, err
		}
		alive, aliveErr := old.alive(ctx)
		return alive && aliveErr == nil, err
	}
	c.replace(s)
	if old != nil {
		old.logout(ctx)
	}
	return true, nil
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

// announce publishes the outcome of an attempt.
func (c *Client) announce(connected bool, err error) {
	before := c.State()
	s := c.setState(connected, err)
	switch {
	case err != nil && (before.Err == nil || before.Err.Error() != err.Error()):
		c.cfg.Logger.Warn("vcenter connection", "connected", connected, "err", err)
	case err == nil && !before.Connected:
		c.cfg.Logger.Info("vcenter connection", "connected", connected)
	}
	if c.cfg.OnState != nil {
		c.cfg.OnState(s)
	}
}

// close logs out, also when ctx has ended, but does not wait long for a vCenter that no longer answers.
func (c *Client) close(ctx context.Context) {
	s := c.current()
	c.replace(nil)
	c.setState(false, errors.New("closed"))
	if s != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(c.cfg.CallTimeout, 5*time.Second))
		defer cancel()
		s.logout(ctx)
	}
}
