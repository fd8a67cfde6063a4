package nsx

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// Credentials are those of an account, or a token of VMware Cloud.
type Credentials struct {
	User, Password string
	// Remote: the user is one of an identity provider (VMware Identity Manager, Workspace ONE Access).
	Remote bool
	// Token is an API token of VMware Cloud. It is exchanged at [Config].TokenHost for one that is valid for a short time.
	Token string
}

// String identifies the credentials without any secret.
func (c Credentials) String() string {
	if c.Token != "" {
		return "a token of VMware Cloud"
	}
	return "user " + strconv.Quote(c.User)
}

// GoString is String, so that %#v does not print a secret.
func (c Credentials) GoString() string { return c.String() }

const (
	// lockout is the pause before refused credentials are tried again. NSX locks an account after five refused logins within
	// 15 minutes.
	lockout = 4 * time.Minute
	// tokenMargin is how long before its end a token is replaced.
	tokenMargin = 2 * time.Minute

	tokenHeader  = "X-Xsrf-Token"
	sessionPath  = "/api/session/create"
	sessionEnd   = "/api/session/destroy"
	exchangeName = "/vmc-token"
)

// errExpired reports that a session or a token has ended, and that the call must be made again.
var errExpired = errors.New("session has ended")

// pass is what authenticates a call.
type pass struct {
	creds   Credentials
	cookies []*http.Cookie // of a session
	token   string         // of a session, or of VMware Cloud
	until   time.Time      // when the token ends; zero for never
}

// session reports whether the pass is a session.
func (p *pass) session() bool { return len(p.cookies) > 0 }

// apply adds the pass to a request. A nil pass is the connection's certificate.
func (p *pass) apply(req *http.Request) {
	switch {
	case p == nil:
	case p.session():
		for _, cookie := range p.cookies {
			req.AddCookie(cookie)
		}
		req.Header.Set(tokenHeader, p.token)
	case p.creds.Token != "":
		req.Header.Set("csp-auth-token", p.token)
	default:
		req.SetBasicAuth(p.creds.User, p.creds.Password)
		if p.creds.Remote {
			req.Header.Set("Authorization", "Remote "+req.Header.Get("Authorization")[len("Basic "):])
		}
	}
}

// login makes the passes of a client, one at a time.
type login struct {
	client *Client

	// turn is held during a login.
	turn sync.Mutex

	mu      sync.Mutex
	current *pass
	basic   bool // the manager has no sessions
	bad     Credentials
	badErr  error
	badAt   time.Time
}

// pass returns a pass for the credentials of now; nil for the connection's certificate.
func (l *login) pass(ctx context.Context) (*pass, error) {
	cfg := &l.client.cfg
	if cfg.CertFile != "" {
		return nil, nil
	}
	creds, err := cfg.Credentials(ctx)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrNoCredentials, err)
	case creds.Token == "" && (creds.User == "" || creds.Password == ""):
		return nil, fmt.Errorf("%w: user or password is empty", ErrNoCredentials)
	}
	if p, err := l.known(creds); p != nil || err != nil {
		return p, err
	}
	l.turn.Lock()
	defer l.turn.Unlock()
	if p, err := l.known(creds); p != nil || err != nil {
		return p, err
	}
	before := l.take()
	p, err := l.open(ctx, creds)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.current = p
	l.mu.Unlock()
	if before != nil && before.creds != creds {
		l.close(ctx, before)
	}
	return p, nil
}

// known returns the current pass if it is one for these credentials, or why they cannot be tried now.
func (l *login) known(creds Credentials) (*pass, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.badErr != nil && l.bad == creds && time.Since(l.badAt) < lockout {
		return nil, l.badErr
	}
	if p := l.current; p != nil && p.creds == creds && (p.until.IsZero() || time.Now().Before(p.until)) {
		return p, nil
	}
	return nil, nil
}

// take returns the current pass and forgets it.
func (l *login) take() *pass {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.current
	l.current = nil
	return p
}

// open makes a pass.
func (l *login) open(ctx context.Context, creds Credentials) (*pass, error) {
	l.mu.Lock()
	basic := l.basic
	l.mu.Unlock()
	switch {
	case creds.Token != "":
		return l.exchange(ctx, creds)
	case creds.Remote || basic:
		return &pass{creds: creds}, nil
	}
	to := *l.client.root
	to.Path += sessionPath
	form := url.Values{"j_username": {creds.User}, "j_password": {creds.Password}}
	_, header, err := l.client.exchange(ctx, http.MethodPost, sessionPath, to.String(), "application/x-www-form-urlencoded", []byte(form.Encode()), nil)
	if e, refused := errors.AsType[*Error](err); refused {
		switch e.Status {
		case http.StatusUnauthorized, http.StatusForbidden:
			return nil, l.refused(&pass{creds: creds}, err)
		case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
			l.mu.Lock()
			l.basic = true
			l.mu.Unlock()
			return &pass{creds: creds}, nil
		}
	}
	if err != nil {
		return nil, err
	}
	p := &pass{creds: creds, cookies: (&http.Response{Header: header}).Cookies(), token: header.Get(tokenHeader)}
	if !p.session() {
		return nil, fmt.Errorf("POST %s: the answer has no session", sessionPath)
	}
	return p, nil
}

// exchange exchanges a token of VMware Cloud.
func (l *login) exchange(ctx context.Context, creds Credentials) (*pass, error) {
	cfg := &l.client.cfg
	form := url.Values{"refresh_token": {creds.Token}}
	tokens := Client{cfg: *cfg, slots: make(chan struct{}, 1)}
	host, err := url.Parse("https://" + cfg.TokenHost)
	if err != nil {
		return nil, fmt.Errorf("token of VMware Cloud: %q is no host", cfg.TokenHost)
	}
	transport := cfg.transport(host.Hostname())
	defer transport.CloseIdleConnections()
	tokens.http = &http.Client{Transport: transport}
	text, _, err := tokens.exchange(ctx, http.MethodPost, exchangeName, host.String(), "application/x-www-form-urlencoded", []byte(form.Encode()), nil)
	if e, refused := errors.AsType[*Error](err); refused && (e.Status == http.StatusBadRequest || e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden) {
		return nil, l.refused(&pass{creds: creds}, err)
	}
	if err != nil {
		return nil, fmt.Errorf("token of VMware Cloud: %s: %w", cfg.TokenHost, err)
	}
	var said struct {
		AccessToken string      `json:"access_token"`
		ExpiresIn   json.Number `json:"expires_in"`
	}
	if err := json.Unmarshal(text, &said); err != nil || said.AccessToken == "" {
		return nil, fmt.Errorf("token of VMware Cloud: %s: the answer has no access_token", cfg.TokenHost)
	}
	p := &pass{creds: creds, token: said.AccessToken}
	if seconds, err := said.ExpiresIn.Int64(); err == nil && seconds > 0 {
		life := time.Duration(seconds) * time.Second
		p.until = time.Now().Add(max(life-tokenMargin, life/2))
	}
	return p, nil
}

// expire forgets a session or a token that NSX no longer takes. It returns false for a pass that cannot expire.
func (l *login) expire(p *pass) bool {
	if p == nil || !p.session() && p.creds.Token == "" {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current == p {
		l.current = nil
	}
	return true
}

// refused records that credentials were refused, and returns the error for that.
func (l *login) refused(p *pass, err error) error {
	if p == nil {
		return fmt.Errorf("%w: client certificate %s: %w", ErrCredentials, l.client.cfg.CertFile, err)
	}
	err = fmt.Errorf("%w: %s: %w", ErrCredentials, p.creds, err)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bad, l.badErr, l.badAt = p.creds, err, time.Now()
	return err
}

// close ends a session at NSX, as well as it can.
func (l *login) close(ctx context.Context, p *pass) {
	if !p.session() {
		return
	}
	to := *l.client.root
	to.Path += sessionEnd
	if _, _, err := l.client.exchange(ctx, http.MethodGet, sessionEnd, to.String(), "", nil, p.apply); err != nil {
		l.client.cfg.Logger.Debug("session not ended", "err", err)
	}
}

// end ends the session, if there is one.
func (l *login) end(ctx context.Context) {
	l.turn.Lock()
	defer l.turn.Unlock()
	if p := l.take(); p != nil {
		l.close(ctx, p)
	}
}
