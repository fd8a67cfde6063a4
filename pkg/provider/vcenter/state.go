package vcenter

import (
	"context"
	"fmt"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
)

// State is what a [Client] knows of its connection.
type State struct {
	// Connected says that there is a session and no sign that it fails.
	Connected bool
	// Err is why there is no connection, or why newer credentials do not work while an older session still does.
	// It wraps ErrInvalidLogin or ErrNoCredentials where that is the reason, and never holds a password. It does not name
	// the vCenter.
	Err error
	// Since is when Connected last changed.
	Since time.Time
	// Reconnects counts how often there was a connection again after there had been none.
	Reconnects int
	// Rotations counts logins that succeeded with other credentials than the one before.
	Rotations int
}

// State returns the state at this moment.
func (c *Client) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// Session returns the current session, or at once an error that wraps [ErrNotConnected] and says why there is none.
// A session may end at any moment after; see [Session.Done].
func (c *Client) Session() (*Session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sess != nil && c.state.Connected {
		return c.sess, nil
	}
	if c.state.Err != nil {
		return nil, fmt.Errorf("vcenter %q: %w: %w", c.cfg.Name, ErrNotConnected, c.state.Err)
	}
	return nil, fmt.Errorf("vcenter %q: %w yet", c.cfg.Name, ErrNotConnected)
}

// Wait returns the current session as soon as there is one, or ctx's error.
func (c *Client) Wait(ctx context.Context) (*Session, error) {
	for {
		c.mu.Lock()
		changed := c.changed
		c.mu.Unlock()
		if s, err := c.Session(); err == nil {
			return s, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// setState records a new state and wakes those who wait for one.
func (c *Client) setState(connected bool, err error) State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.setStateLocked(connected, err)
}

func (c *Client) setStateLocked(connected bool, err error) State {
	if c.state.Connected != connected || c.state.Since.IsZero() {
		c.state.Since = time.Now()
		if connected && c.connected {
			c.state.Reconnects++
		}
		c.connected = c.connected || connected
	}
	c.state.Connected, c.state.Err = connected, err
	close(c.changed)
	c.changed = make(chan struct{})
	return c.state
}

// suspect is told when a call on s met an error that puts s in doubt: nobody is handed s any more until Run has
// checked it.
func (c *Client) suspect(s *Session, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sess != s || !c.state.Connected {
		return
	}
	c.setStateLocked(false, err)
	notify.Wake(c.doubt)
}

func (c *Client) current() *Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sess
}
