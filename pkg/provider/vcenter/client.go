package vcenter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
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

// Config is the configuration of a [Client]. Server, UserAgent and Credentials are mandatory.
type Config struct {
	// Name is the name of the vCenter in errors and logs; Server when empty.
	Name string
	// Server is a host name or an IP address, without scheme or port.
	Server string
	// Port is 443 when zero.
	Port int

	// Insecure disables the verification of the server's certificate.
	Insecure bool
	// CAFile is a PEM file of the authorities to trust instead of the system's. It is read for every connection.
	CAFile string
	// CAData is as CAFile, in memory.
	CAData []byte
	// Thumbprint, SHA-1 or SHA-256 with or without colons, is trusted if the certificate's authority is not.
	Thumbprint string

	// Dial, if set, opens the connections for TLS in place of net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// UserAgent is sent with every request.
	UserAgent string
	// Credentials is called for every login.
	Credentials CredentialsFunc
	// TokenFile contains the bearer token for session managers, unless the credentials contain one; the token of the pod's
	// ServiceAccount when empty.
	TokenFile string

	// CallTimeout bounds every call except the long poll, and logins, which may take four times as long; 20 s when zero.
	CallTimeout time.Duration
	// MaxWait is how long the vCenter may hold a long poll without news, in whole seconds; 60 s when zero. A poll that takes
	// CallTimeout longer than that is canceled, because the vCenter hangs.
	MaxWait time.Duration
	// RoundTrips is how often a SOAP call is tried on temporary network errors; 3 when zero.
	RoundTrips int
	// Retry is the pause between attempts while a vCenter does not respond; 500 ms to 2 s when zero. Such an attempt is one
	// call without a session, so that a vCenter that is back is noticed soon.
	Retry Backoff
	// FaultRetry is the pause between attempts while a vCenter responds but refuses sessions, is not trusted, or ends the
	// watch; 500 ms to 30 s when zero.
	FaultRetry Backoff
	// LoginRetry is the pause between attempts after a refused login; 10 s to 1 min when zero. In any case, the same
	// credentials are not tried often enough to lock the account.
	LoginRetry Backoff

	// OnState, if set, is called with the outcome of every attempt to log in or to check the session, from one goroutine of
	// Run. It must not block.
	OnState func(State)
	// OnCall, if set, is called after every call, including the long poll and each retry, from the goroutine that made it.
	// It must not block.
	OnCall func(Call)
	// Logger receives connection changes; discarded when nil.
	Logger *slog.Logger
}

// withDefaults returns c with its defaults set, or all reasons why c is invalid.
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
	c.Name = cmp.Or(c.Name, c.Server)
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
	// The protocol counts whole seconds, and zero means "do not wait".
	c.MaxWait = max(c.MaxWait.Truncate(time.Second), time.Second)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	c.Logger = c.Logger.With("vcenter", c.Name)
	return c, nil
}

// address returns host:port, with an IPv6 host in brackets.
func (c Config) address() string {
	return net.JoinHostPort(strings.Trim(c.Server, "[]"), strconv.Itoa(c.Port))
}

func orDefault[T comparable](v *T, value T) {
	var zero T
	if *v == zero {
		*v = value
	}
}

// State is the state of a [Client]'s connection.
type State struct {
	// Connected reports that there is a session and no sign that it fails.
	Connected bool
	// Err is why there is no connection, or why newer credentials do not work while an older session still does. It wraps
	// ErrInvalidLogin or ErrNoCredentials if that is the reason. It contains neither a password nor the vCenter's name.
	Err error
	// Since is when Connected last changed.
	Since time.Time
	// Reconnects counts how often a connection was established again.
	Reconnects int
	// Rotations counts successful logins with credentials that differ from those of the previous one.
	Rotations int
}

// State returns the current state.
func (c *Client) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// Session returns the current session, or immediately an error that wraps [ErrNotConnected] and the reason. A session may
// end at any time; see [Session.Done].
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

// suspect records that an error of a call puts s in doubt. Session does not return s again until Run has checked it.
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

// Backoff is a pause that doubles from Min to Max while attempts fail. Each pause is randomized within the upper half of
// its range, so that the clients of a vCenter that comes back do not all reconnect at once.
type Backoff struct {
	Min, Max time.Duration
}

// pause returns the pause after the given number of consecutive failures, 1 for the first.
func (b Backoff) pause(failures int) time.Duration {
	return backoff.Backoff{Min: b.Min, Max: b.Max, Jitter: true}.After(failures)
}
