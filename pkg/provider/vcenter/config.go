package vcenter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
)

// Config says where a vCenter is and how to talk to it. Server, UserAgent and Credentials are mandatory.
type Config struct {
	// Name is what errors and logs call this vCenter; Server when empty.
	Name string
	// Server is a host name or an IP address, without scheme or port.
	Server string
	// Port is 443 when zero.
	Port int

	// Insecure turns the verification of the server's certificate off.
	Insecure bool
	// CAFile names a PEM file of the authorities to trust instead of the system's, read anew for every connection.
	CAFile string
	// CAData is as CAFile, in memory.
	CAData []byte
	// Thumbprint, SHA-1 or SHA-256 with or without colons, is trusted where verification fails for lack of trust.
	Thumbprint string

	// Dial, when set, makes the connections on which TLS is then spoken, in place of the network's.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// UserAgent is sent with every request.
	UserAgent string
	// Credentials are asked for at every login.
	Credentials CredentialsFunc
	// TokenFile holds the bearer token for session managers where credentials name none; the one of the pod's
	// ServiceAccount when empty.
	TokenFile string

	// CallTimeout bounds every call but the long poll and logins, which may take four times as long; 20 s when zero.
	CallTimeout time.Duration
	// MaxWait is how long the vCenter may hold a long poll with nothing to tell, to the second; 60 s when zero.
	// A poll that takes CallTimeout longer than this is given up: the vCenter hangs.
	MaxWait time.Duration
	// RoundTrips is how often a SOAP call is tried when the network fails in passing; 3 when zero.
	RoundTrips int
	// Retry paces new attempts at a vCenter that does not answer; 500 ms to 2 s when zero. Such an attempt is one call
	// that needs no session, so a vCenter that is back is noticed soon.
	Retry Backoff
	// FaultRetry paces new attempts at a vCenter that answers and has no session to give, is not the one to trust, or
	// ends the watch; 500 ms to 30 s when zero.
	FaultRetry Backoff
	// LoginRetry paces new attempts after a refused login, 10 s to 1 min when zero. Whatever it says, the same
	// credentials are not refused so often that the account is locked.
	LoginRetry Backoff

	// OnState, when set, is told the outcome of every attempt to log in or to check the session, from one goroutine of
	// Run. It must not block.
	OnState func(State)
	// OnCall, when set, is told of every call after it was made, the long poll included, each repetition by itself, from
	// the goroutine that made it. It must not block.
	OnCall func(Call)
	// Logger receives connection changes; none when nil.
	Logger *slog.Logger
}

// withDefaults returns c with every zero value that has a default replaced, or every reason why c cannot be used.
func (c Config) withDefaults() (Config, error) {
	var errs []error
	if c.Server == "" {
		errs = append(errs, errors.New("server is empty"))
	}
	if c.UserAgent == "" {
		errs = append(errs, errors.New("user agent is empty"))
	}
	if c.Credentials == nil {
		errs = append(errs, errors.New("credentials are nil"))
	}
	if c.Port < 0 || c.Port > 65535 {
		errs = append(errs, fmt.Errorf("port %d is out of range", c.Port))
	}
	if c.Name == "" {
		c.Name = c.Server
	}
	if len(errs) > 0 {
		return c, fmt.Errorf("vcenter %q: %w", c.Name, errors.Join(errs...))
	}
	orDefault(&c.Port, 443)
	orDefault(&c.CallTimeout, 20*time.Second)
	orDefault(&c.MaxWait, time.Minute)
	orDefault(&c.RoundTrips, 3)
	orDefault(&c.TokenFile, serviceAccountToken)
	orDefault(&c.Retry, Backoff{Min: 500 * time.Millisecond, Max: 2 * time.Second})
	orDefault(&c.FaultRetry, Backoff{Min: 500 * time.Millisecond, Max: 30 * time.Second})
	orDefault(&c.LoginRetry, Backoff{Min: 10 * time.Second, Max: time.Minute})
	// The wire format counts whole seconds, and none would mean "do not wait".
	c.MaxWait = max(c.MaxWait.Truncate(time.Second), time.Second)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Logger = c.Logger.With("vcenter", c.Name)
	return c, nil
}

// address is host:port, with an IPv6 host in brackets.
func (c Config) address() string {
	return net.JoinHostPort(strings.Trim(c.Server, "[]"), strconv.Itoa(c.Port))
}

func orDefault[T comparable](v *T, value T) {
	var zero T
	if *v == zero {
		*v = value
	}
}

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
