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
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// loginPatience is how many call timeouts a login may take. A vCenter that asks a directory of users is slow at nothing
// but this, and a login that is given up may yet succeed, as a session that nobody knows of.
const loginPatience = 4

// login makes a session. A refusal wraps ErrInvalidLogin. Nobody is logged in at a vCenter that has not just answered
// something simpler within the call timeout: one that hangs or is too slow to be of use collects no sessions.
func login(ctx context.Context, cfg *Config, creds Credentials) (*Session, error) {
	sc := newSOAPClient(cfg)
	vim, err := greet(ctx, cfg, sc)
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

// greet reads what can be read without a session.
func greet(ctx context.Context, cfg *Config, sc *soap.Client) (vim *vim25.Client, err error) {
	ctx, cancel := context.WithTimeout(ctx, cfg.CallTimeout)
	defer cancel()
	vim = &vim25.Client{Client: sc, RoundTripper: cfg.observe(sc)}
	vim.ServiceContent, err = methods.GetServiceContent(ctx, vim)
	return vim, err
}

// authenticate makes vim's connection a session, each way with one call that is not repeated.
func authenticate(ctx context.Context, cfg *Config, vim *vim25.Client, creds Credentials) (err error) {
	ctx, stop := outlive(ctx, farewell)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, loginPatience*cfg.CallTimeout)
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
		// The session was made; it is the rest of the answer that got lost.
		newSession(cfg, creds, vim).logout(ctx)
	}
	if fault.Is(err, &types.InvalidLogin{}) {
		err = fmt.Errorf("%s: %w", creds, ErrInvalidLogin)
	}
	return err
}

const (
	// A vCenter locks an account, by default, when five logins within 180 seconds were refused.
	lockWindow   = 200 * time.Second
	lockAttempts = 4
	// restAttempts is what of them REST may use up, so that SOAP always has some left.
	restAttempts = 2
)

// api is one of a vCenter's two APIs, which have a login each.
type api int

const (
	soapAPI api = iota
	restAPI
)

// logins keeps refused logins from being repeated faster than an account can bear. What was refused waits, by back-off
// and by the number of refusals within lockWindow; anything else may be tried at once. It may be used from any
// goroutine.
type logins struct {
	backoff Backoff

	mu       sync.Mutex
	creds    Credentials // that were refused
	refusals []time.Time
	last     [2]refusal // by api
}

type refusal struct {
	err   error // nil when the last login was accepted
	count int   // in a row
	next  time.Time
}

// wait returns how long the credentials are not to be tried, with the error that they met last; zero when they may be.
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

// refused notes that the credentials were.
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

// accepted notes that the credentials were: a vCenter, too, counts anew then.
func (l *logins) accepted(a api, creds Credentials) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if creds == l.creds {
		l.refusals, l.last[a] = nil, refusal{}
	}
}

// farewell is how long a login or a logout that is under way is given when the process ends: cut off, it might leave a
// session behind that nobody knows of.
const farewell = 5 * time.Second

// Session is one login at a vCenter. It may be used from any goroutine until [Session.Done] is closed.
type Session struct {
	// Vim is the logged-in SOAP client.
	Vim *vim25.Client

	cfg   *Config
	creds Credentials
	ctx   context.Context // ends with the session
	end   context.CancelFunc
}

// Done is closed when the session has been given up: it expired, or another one has taken its place.
func (s *Session) Done() <-chan struct{} { return s.ctx.Done() }

// newSession is a session that vim is logged in to.
func newSession(cfg *Config, creds Credentials, vim *vim25.Client) *Session {
	s := &Session{Vim: vim, cfg: cfg, creds: creds}
	s.ctx, s.end = context.WithCancel(context.Background())
	return s
}

// alive asks the vCenter whether it still knows the session. An error means that it could not be asked.
func (s *Session) alive(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.CallTimeout)
	defer cancel()
	u, err := session.NewManager(s.Vim).UserSession(ctx)
	if err != nil {
		return false, fmt.Errorf("check session: %w", err)
	}
	return u != nil, nil
}

// logout ends the session as well as it can; what cannot be told to the vCenter runs into its idle timeout.
func (s *Session) logout(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(s.cfg.CallTimeout, farewell))
	defer cancel()
	if err := session.NewManager(s.Vim).Logout(ctx); err != nil {
		s.cfg.Logger.Debug("soap logout", "err", err)
	}
	s.Vim.CloseIdleConnections()
}

// outlive returns a context that ends a while after ctx does.
func outlive(ctx context.Context, while time.Duration) (context.Context, context.CancelFunc) {
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
	// serviceAccountToken is where a pod finds the token of its ServiceAccount.
	serviceAccountToken = "/var/run/secrets/kubernetes.io/serviceaccount/token"
	// managerTimeout bounds the question to a session manager, as upstream has it.
	managerTimeout = 5 * time.Second
)

// cloneTicket asks a session manager for a ticket to clone its session with: GET, a bearer token, and for an answer
// {"token": "…"}. Whom to trust is as for the vCenter.
func cloneTicket(ctx context.Context, cfg *Config, creds Credentials) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, managerTimeout)
	defer cancel()
	ticket, err := askManager(ctx, cfg, creds)
	if err != nil {
		if urlErr, ok := errors.AsType[*url.Error](err); ok {
			err = urlErr.Err // its address may hold more than is to be told
		}
		return "", fmt.Errorf("%s: %w: %w", creds, errManager, err)
	}
	return ticket, nil
}

func askManager(ctx context.Context, cfg *Config, creds Credentials) (string, error) {
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
		return "", fmt.Errorf("answer: %w", err)
	}
	if answer.Token == "" {
		return "", errors.New("answer holds no token")
	}
	return answer.Token, nil
}
