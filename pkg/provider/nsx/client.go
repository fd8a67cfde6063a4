package nsx

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// base is where the Policy API is, below the host.
const base = "/policy/api/v1"

const (
	// maxAnswer limits an answer, in bytes: a page of 1,000 objects has some 2 MB.
	maxAnswer = 64 << 20
	// pageSize is how many objects a page of a list has, the most that NSX allows.
	pageSize = "1000"
	// maxCalls is how many calls a client makes at a time. NSX allows 40 of one client.
	maxCalls = 20
	// maxConflicts is how often Update reads an object again.
	maxConflicts = 8
	// maxRenewals is how often one call gets a new session. Another call may have it ended.
	maxRenewals = 3
	// maxRetryAfter is the longest Retry-After that is honored.
	maxRetryAfter = 30 * time.Second
)

// Config configures a [Client]. Host, UserAgent and Credentials are required.
type Config struct {
	// Host is a host, host:port, or in VMware Cloud host/path.
	Host string
	// Insecure disables the verification of the manager's certificate.
	Insecure bool
	// CAFile is a PEM file of the authorities to trust instead of the system's. It is read for every connection.
	CAFile string
	// CertFile and KeyFile, if set, are the PEM files with which the client authenticates. They are read for every connection.
	CertFile, KeyFile string
	// TokenHost is where tokens of VMware Cloud are exchanged: a host, or host/path.
	TokenHost string
	// Credentials is called for every login, unless there is a client certificate. Its error counts as [ErrNoCredentials].
	Credentials func(context.Context) (Credentials, error)

	UserAgent string
	// CallTimeout bounds every exchange; 10 s when zero.
	CallTimeout time.Duration
	// Patience is how long a call is repeated while NSX has no time for it (429, 503); 30 s when zero.
	Patience time.Duration

	// OnCall, if set, is called after every exchange, from the goroutine that made it. It must not block.
	OnCall func(Call)
	// OnState, if set, is called when NSX can be used (nil), and when it cannot and why, whenever that changes. It must not block.
	OnState func(error)
	// Logger receives the changes of the state; discarded when nil.
	Logger *slog.Logger
}

// Client makes calls to one NSX Manager. Create it with [New]. All methods are safe for concurrent use.
type Client struct {
	cfg   Config
	root  *url.URL
	http  *http.Client
	slots chan struct{}
	login login

	mu    sync.Mutex
	state string // the kind of the last failure, "" for none yet
}

// New returns a client. It makes no calls.
func New(cfg Config) (*Client, error) {
	root, err := url.Parse("https://" + cfg.Host)
	switch {
	case cfg.Host == "":
		return nil, errors.New("nsx: host is empty")
	case err != nil || root.Hostname() == "" || root.User != nil || root.RawQuery != "" || root.Fragment != "":
		return nil, fmt.Errorf("nsx: %q is no host: write the name or address, with :PORT if it is not 443", cfg.Host)
	case (cfg.CertFile == "") != (cfg.KeyFile == ""):
		return nil, errors.New("nsx: a client certificate needs both its file and that of its key")
	case cfg.Credentials == nil && cfg.CertFile == "":
		return nil, errors.New("nsx: credentials are nil")
	}
	cfg.CallTimeout = cmp.Or(cfg.CallTimeout, 10*time.Second)
	cfg.Patience = cmp.Or(cfg.Patience, 30*time.Second)
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler)).With("nsx", cfg.Host)
	root.Path = strings.TrimSuffix(root.Path, "/")
	c := &Client{cfg: cfg, root: root, slots: make(chan struct{}, maxCalls)}
	transport := cfg.transport(root.Hostname())
	c.http = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	c.login.client = c
	return c, nil
}

// transport returns connections to a host. Files are read at every handshake, so that a client survives their change.
func (c *Config) transport(host string) *http.Transport {
	trust := vcenter.Config{Insecure: c.Insecure, CAFile: c.CAFile}
	config := trust.TLS(host)
	if c.CertFile != "" {
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
			if err != nil {
				return nil, fmt.Errorf("client certificate: %w", err)
			}
			return &pair, nil
		}
	}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, TLSHandshakeTimeout: c.CallTimeout,
		DialContext: (&net.Dialer{Timeout: c.CallTimeout}).DialContext, MaxIdleConnsPerHost: maxCalls, IdleConnTimeout: 90 * time.Second,
	}
}

// Close ends the session and the connections.
func (c *Client) Close(ctx context.Context) {
	c.login.end(ctx)
	c.http.CloseIdleConnections()
}

// Get returns the object at a path.
func (c *Client) Get(ctx context.Context, path string) (Object, error) {
	var o Object
	return o, c.do(ctx, http.MethodGet, path, nil, nil, &o)
}

// Create makes an object at a path that has none. If there is one already, perhaps because the answer to an earlier Create
// was lost, Create returns it with existed.
func (c *Client) Create(ctx context.Context, path string, o Object) (made Object, existed bool, err error) {
	err = c.do(ctx, http.MethodPut, path, nil, o, &made)
	if !Conflict(err) {
		return made, false, err
	}
	made, getErr := c.Get(ctx, path)
	if NotFound(getErr) {
		return nil, false, err
	}
	return made, true, getErr
}

// Update applies change to an object that was read before, and stores it. If someone else has changed it, Update reads it again
// and repeats. It returns the object as stored. change works on a copy; it returns false if nothing has changed.
func (c *Client) Update(ctx context.Context, known Object, change func(Object) bool) (Object, error) {
	path := known.Path()
	for attempt := 1; ; attempt++ {
		o := known.Clone()
		if !change(o) {
			return known, nil
		}
		var stored Object
		err := c.do(ctx, http.MethodPut, path, nil, o, &stored)
		if !Conflict(err) || attempt == maxConflicts {
			return stored, err
		}
		if known, err = c.Get(ctx, path); err != nil {
			return nil, err
		}
	}
}

// Delete deletes the object at a path. It is no error if none exists.
func (c *Client) Delete(ctx context.Context, path string) error {
	err := c.do(ctx, http.MethodDelete, path, nil, nil, nil)
	if NotFound(err) {
		return nil
	}
	return err
}

// List returns all objects of a collection, "/infra/lb-pools".
func (c *Client) List(ctx context.Context, collection string) ([]Object, error) {
	query := url.Values{}
	query.Set("page_size", pageSize)
	var all []Object
	for {
		var page struct {
			Results []Object `json:"results"`
			Cursor  string   `json:"cursor"`
		}
		if err := c.do(ctx, http.MethodGet, collection, query, nil, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Results...)
		if page.Cursor == "" || len(page.Results) == 0 {
			return all, nil
		}
		query.Set("cursor", page.Cursor)
	}
}

// States of a [Realization].
const (
	Realized   = "REALIZED"
	Unrealized = "UNREALIZED"
	Failed     = "ERROR"
)

// Realization is what NSX has made of an object.
type Realization struct {
	// State is Realized, Unrealized, Failed, or another word of NSX; "" if NSX has not begun.
	State string
	// Problem is why it failed.
	Problem string
	// Attributes has the first value of each extended attribute: "allocation_ip" of an allocation.
	Attributes map[string]string
}

// Realization returns what NSX has made of the object at a path.
func (c *Client) Realization(ctx context.Context, path string) (Realization, error) {
	var list struct {
		Results []Object `json:"results"`
	}
	r := Realization{Attributes: map[string]string{}}
	err := c.do(ctx, http.MethodGet, "/infra/realized-state/realized-entities", url.Values{"intent_path": {path}}, nil, &list)
	for _, o := range list.Results {
		if r.State == "" || o.Text("state") == Failed {
			r.State = o.Text("state")
		}
		r.Problem = cmp.Or(r.Problem, o.Text("publish_status_error"), o.Text("runtime_error"))
		for _, a := range o.Objects("alarms") {
			r.Problem = cmp.Or(r.Problem, a.Text("message"))
		}
		for _, a := range o.Objects("extended_attributes") {
			if values := a.Texts("values"); len(values) > 0 {
				r.Attributes[a.Text("key")] = values[0]
			}
		}
	}
	return r, err
}

// do makes one call, again if NSX asks for that, and decodes the answer into answer unless it is nil.
func (c *Client) do(ctx context.Context, verb, path string, query url.Values, o Object, answer any) error {
	var body []byte
	if o != nil {
		var err error
		if body, err = json.Marshal(o); err != nil {
			return fmt.Errorf("nsx %s: %s %s: %w", c.cfg.Host, verb, path, err)
		}
	}
	text, err := c.retried(ctx, verb, path, query, body)
	c.report(ctx, err)
	if err == nil && answer != nil {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if err = d.Decode(answer); err != nil {
			err = fmt.Errorf("%s %s: the answer is no JSON: %w", verb, path, err)
		}
	}
	if err != nil {
		return fmt.Errorf("nsx %s: %w", c.cfg.Host, err)
	}
	return nil
}

// retried is [Client.do] with bytes.
func (c *Client) retried(ctx context.Context, verb, path string, query url.Values, body []byte) ([]byte, error) {
	pause := backoff.Backoff{Min: 250 * time.Millisecond, Max: 8 * time.Second, Jitter: true}
	until := time.Now().Add(c.cfg.Patience)
	renewed, cut := 0, 0
	for attempt := 1; ; attempt++ {
		text, header, err := c.authorized(ctx, verb, path, query, body, &renewed)
		if err == nil || ctx.Err() != nil {
			return text, err
		}
		wait := pause.After(attempt)
		switch e, refused := errors.AsType[*Error](err); {
		case errors.Is(err, errExpired):
			continue
		case refused && (e.Status == http.StatusTooManyRequests || e.Status == http.StatusServiceUnavailable):
			if asked, ok := retryAfter(header); ok {
				wait = asked
			}
			err = fmt.Errorf("%w: %w", ErrBusy, err)
		case !refused && cutOff(err) && cut < 2:
			// All calls may be repeated: a path and a revision say what is meant.
			cut++
		default:
			return nil, err
		}
		if time.Now().Add(wait).After(until) {
			return nil, err
		}
		if backoff.Sleep(ctx, wait) != nil {
			return nil, err
		}
	}
}

// cutOff reports whether a connection ended while a call was on it.
func cutOff(err error) bool {
	var netErr net.Error
	return errors.Is(err, ErrUnreachable) && !errors.Is(err, context.DeadlineExceeded) && !(errors.As(err, &netErr) && netErr.Timeout()) &&
		(errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(err.Error(), "connection reset"))
}

// retryAfter returns the pause that an answer asks for. It ignores dates, because clocks differ.
func retryAfter(h http.Header) (time.Duration, bool) {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	wait := time.Duration(seconds) * time.Second
	return wait, err == nil && seconds > 0 && wait <= maxRetryAfter
}

// authorized makes one exchange with the credentials. Its error is errExpired if another attempt has to log in again.
func (c *Client) authorized(ctx context.Context, verb, path string, query url.Values, body []byte, renewed *int) ([]byte, http.Header, error) {
	pass, err := c.login.pass(ctx)
	if err != nil {
		return nil, nil, err
	}
	to := *c.root
	to.Path += base + path
	to.RawQuery = query.Encode()
	text, header, err := c.exchange(ctx, verb, path, to.String(), "application/json", body, pass.apply)
	e, refused := errors.AsType[*Error](err)
	if !refused || e.Status != http.StatusUnauthorized && (e.Status != http.StatusForbidden || e.Code != codeBadLogin && e.Code != codeBadToken) {
		return text, header, err
	}
	switch {
	case !c.login.expire(pass):
		return nil, nil, c.login.refused(pass, err)
	case *renewed < maxRenewals:
		*renewed++
		return nil, nil, errExpired
	}
	// The login was good.
	return nil, nil, fmt.Errorf("%w: %w", ErrCredentials, err)
}

// exchange makes one request within the call timeout. name is its path for errors and metrics.
func (c *Client) exchange(ctx context.Context, verb, name, address, contentType string, body []byte, prepare func(*http.Request)) ([]byte, http.Header, error) {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	began := time.Now()
	text, header, status, err := c.send(ctx, verb, name, address, contentType, body, prepare)
	if c.cfg.OnCall != nil {
		c.cfg.OnCall(Call{Method: methodOf(verb, name), Result: result(ctx, status, err), Duration: time.Since(began)})
	}
	switch {
	case err != nil:
		return nil, nil, unreachable(verb+" "+name, err)
	case status == http.StatusBadGateway || status == http.StatusGatewayTimeout:
		return nil, header, unreachable(verb+" "+name, refusal("proxy", status, text))
	case status >= http.StatusMultipleChoices:
		return nil, header, refusal(verb+" "+name, status, text)
	}
	return text, header, nil
}

func (c *Client) send(ctx context.Context, verb, name, address, contentType string, body []byte, prepare func(*http.Request)) ([]byte, http.Header, int, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.CallTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, verb, address, bytes.NewReader(body))
	if err != nil {
		return nil, nil, 0, fmt.Errorf("%s %s: %w", verb, name, err)
	}
	req.Header.Set("User-Agent", c.cfg.UserAgent)
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", contentType)
	}
	if prepare != nil {
		prepare(req)
	}
	res, err := c.http.Do(req)
	if err != nil {
		// Without the address, which Go's client repeats in front.
		if inner := new(url.Error); errors.As(err, &inner) {
			err = inner.Err
		}
		return nil, nil, 0, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	return text, res.Header, res.StatusCode, err
}

// report calls OnState if the outcome of a call is of another kind than that of the last one.
func (c *Client) report(ctx context.Context, err error) {
	kind := "ok"
	switch {
	case ctx.Err() != nil:
		return
	case errors.Is(err, ErrCredentials), errors.Is(err, ErrNoCredentials):
		kind = "credentials"
	case errors.Is(err, ErrCertificate):
		kind = "trust"
	case errors.Is(err, ErrUnreachable):
		kind = "unreachable"
	case errors.Is(err, ErrBusy):
		kind = "busy"
	default:
		err = nil
	}
	c.mu.Lock()
	changed := c.state != kind
	c.state = kind
	c.mu.Unlock()
	if !changed {
		return
	}
	if err != nil {
		c.cfg.Logger.Warn("NSX cannot be used", "err", err)
	} else {
		c.cfg.Logger.Info("NSX can be used")
	}
	if c.cfg.OnState != nil {
		c.cfg.OnState(err)
	}
}
