package vcenter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// loginTimeouts is how many call timeouts a login may take. A vCenter that authenticates against a directory of users may
// be slow at logins alone, and a canceled login may still succeed and leave an orphaned session.
const loginTimeouts = 4

// login opens a session. A refusal wraps ErrInvalidLogin. It logs in only after the vCenter has answered a simpler call
// within the call timeout, so that a vCenter that hangs or is too slow does not accumulate sessions.
func login(ctx context.Context, cfg *Config, creds Credentials) (*Session, error) {
	sc := newSOAPClient(cfg)
	vim, err := readServiceContent(ctx, cfg, sc)
	if err == nil {
		err = authenticate(ctx, cfg, vim, creds)
	}
	if err != nil {
		sc.CloseIdleConnections()
		return nil, fmt.Errorf("log in: %w", err)
	}
	vim.RoundTripper = vim25.Retry(vim.RoundTripper, vim25.RetryTemporaryNetworkError, cfg.RoundTrips)
	return newSession(cfg, creds, vim), nil
}

// readServiceContent reads the service content, which needs no session.
func readServiceContent(ctx context.Context, cfg *Config, sc *soap.Client) (vim *vim25.Client, err error) {
	ctx, cancel := context.WithTimeout(ctx, cfg.CallTimeout)
	defer cancel()
	vim = &vim25.Client{Client: sc, RoundTripper: cfg.observe(sc)}
	vim.ServiceContent, err = methods.GetServiceContent(ctx, vim)
	return vim, err
}

// authenticate opens a session on vim's connection, with one call that is not retried.
func authenticate(ctx context.Context, cfg *Config, vim *vim25.Client, creds Credentials) (err error) {
	ctx, stop := extendContext(ctx, shutdownTimeout)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, loginTimeouts*cfg.CallTimeout)
	defer cancel()
	m := session.NewManager(vim)
	switch {
	case creds.shared():
		var ticket string
		if ticket, err = cloneTicket(ctx, cfg, creds); err == nil {
			err = m.CloneSession(ctx, ticket)
		}
	case creds.certificate() != nil:
		var header soap.Header
		if header.Security, err = issue(ctx, cfg, vim, creds); err == nil {
			err = m.LoginByToken(vim.WithHeader(ctx, header))
		}
	default:
		err = m.Login(ctx, url.UserPassword(creds.User, creds.Password))
	}
	if err != nil && vim.SessionCookie() != nil {
		// The session was opened, but the rest of the response was lost.
		newSession(cfg, creds, vim).logout(ctx)
	}
	if fault.Is(err, &types.InvalidLogin{}) {
		err = fmt.Errorf("%s: %w", creds, ErrInvalidLogin)
	}
	return err
}

const (
	// By default, a vCenter locks an account after five refused logins within 180 seconds.
	lockWindow   = 200 * time.Second
	lockAttempts = 4
	// restAttempts is the part of them that REST may use, so that some are left for SOAP.
	restAttempts = 2
)

// api is one of a vCenter's two APIs, which have separate logins.
type api int

const (
	soapAPI api = iota
	restAPI
)

// logins limits how often refused logins are repeated, so that the account is not locked. Refused credentials wait, by
// back-off and by the number of refusals within lockWindow; others may be tried at once. It is safe for concurrent use.
type logins struct {
	backoff Backoff

	mu       sync.Mutex
	creds    Credentials // the refused ones
	refusals []time.Time
	last     [2]refusal // by api
}

type refusal struct {
	err   error // nil when the last login was accepted
	count int   // in a row
	next  time.Time
}

// wait returns how long the credentials must not be tried, with their last error; zero if they may be tried now.
func (l *logins) wait(a api, creds Credentials) (time.Duration, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.last[a]
	if creds != l.creds || r.err == nil {
		return 0, nil
	}
	now := time.Now()
	l.refusals = slices.DeleteFunc(l.refusals, func(t time.Time) bool { return now.Sub(t) > lockWindow })
	next, limit := r.next, lockAttempts
	if a == restAPI {
		limit = restAttempts
	}
	if n := len(l.refusals); n >= limit {
		if free := l.refusals[n-limit].Add(lockWindow); free.After(next) {
			next = free
		}
	}
	if d := next.Sub(now); d > 0 {
		return d, r.err
	}
	return 0, nil
}

func (l *logins) refused(a api, creds Credentials, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if creds != l.creds {
		l.creds, l.refusals, l.last = creds, nil, [2]refusal{}
	}
	now := time.Now()
	l.refusals = append(l.refusals, now)
	r := &l.last[a]
	r.count++
	r.err, r.next = err, now.Add(l.backoff.pause(r.count))
}

// accepted resets the counters, as the vCenter does.
func (l *logins) accepted(a api, creds Credentials) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if creds == l.creds {
		l.refusals, l.last[a] = nil, refusal{}
	}
}

// shutdownTimeout is how long a login or a logout may still take when the process ends. Canceled, it might leave an orphaned
// session.
const shutdownTimeout = 5 * time.Second

// Session is one login at a vCenter. It is safe for concurrent use until [Session.Done] is closed.
type Session struct {
	// Vim is the logged-in SOAP client.
	Vim *vim25.Client

	cfg   *Config
	creds Credentials
	ctx   context.Context // ends with the session
	end   context.CancelFunc
}

// Done is closed when the session has expired or been replaced.
func (s *Session) Done() <-chan struct{} { return s.ctx.Done() }

func newSession(cfg *Config, creds Credentials, vim *vim25.Client) *Session {
	s := &Session{Vim: vim, cfg: cfg, creds: creds}
	s.ctx, s.end = context.WithCancel(context.Background())
	return s
}

// alive reports whether the vCenter still has the session. An error means that it could not be queried.
func (s *Session) alive(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.CallTimeout)
	defer cancel()
	u, err := session.NewManager(s.Vim).UserSession(ctx)
	if err != nil {
		return false, fmt.Errorf("check session: %w", err)
	}
	return u != nil, nil
}

// logout tries to end the session; otherwise the vCenter's idle timeout ends it.
func (s *Session) logout(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(s.cfg.CallTimeout, shutdownTimeout))
	defer cancel()
	if err := session.NewManager(s.Vim).Logout(ctx); err != nil {
		s.cfg.Logger.Debug("soap logout", "err", err)
	}
	s.Vim.CloseIdleConnections()
}

// extendContext returns a context that ends the given time after ctx.
func extendContext(ctx context.Context, while time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		t := time.NewTimer(while)
		defer t.Stop()
		select {
		case <-t.C:
			cancel(context.Cause(ctx))
		case <-longer.Done():
		}
	})
	return longer, func() {
		stop()
		cancel(errors.New("done"))
	}
}

const (
	// serviceAccountToken is the path of the ServiceAccount token in a pod.
	serviceAccountToken = "/var/run/secrets/kubernetes.io/serviceaccount/token"
	// managerTimeout bounds the request to a session manager, as upstream does.
	managerTimeout = 5 * time.Second
)

// cloneTicket gets a ticket from a session manager to clone its session: GET with a bearer token, and a response
// {"token": "…"}. TLS is verified as for the vCenter.
func cloneTicket(ctx context.Context, cfg *Config, creds Credentials) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, managerTimeout)
	defer cancel()
	ticket, err := requestTicket(ctx, cfg, creds)
	if err != nil {
		if urlErr, ok := errors.AsType[*url.Error](err); ok {
			err = urlErr.Err // the URL may contain a secret
		}
		return "", fmt.Errorf("%s: %w: %w", creds, errManager, err)
	}
	return ticket, nil
}

func requestTicket(ctx context.Context, cfg *Config, creds Credentials) (string, error) {
	bearer := creds.SessionManagerToken
	if bearer == "" {
		file, err := os.ReadFile(cfg.TokenFile)
		if err != nil {
			return "", err
		}
		bearer = strings.TrimSpace(string(file))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, creds.SessionManagerURL, nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+bearer)
	req.Header.Set("User-Agent", cfg.UserAgent)
	t := &http.Transport{
		Proxy:             http.ProxyFromEnvironment,
		TLSClientConfig:   cfg.TLS(req.URL.Hostname()),
		DialTLSContext:    cfg.dialTLS(nil),
		DisableKeepAlives: true,
	}
	res, err := (&http.Client{Transport: t}).Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return "", errors.New(res.Status)
	}
	var answer struct {
		Token string `json:"token"`
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, 1<<16)).Decode(&answer); err != nil {
		return "", fmt.Errorf("response: %w", err)
	}
	if answer.Token == "" {
		return "", errors.New("response contains no token")
	}
	return answer.Token, nil
}

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
