package supervisor

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
)

const (
	// DefaultDirectory is where a guest cluster mounts its credentials (upstream, vsphereparavirtual/config).
	DefaultDirectory = "/etc/cloud/ccm-provider"
	// DefaultHost is the Supervisor's name in the guest cluster: a Service without a selector.
	DefaultHost = "supervisor.default.svc"
	// AddressEnv is the environment variable with the Supervisor's address.
	AddressEnv = "SUPERVISOR_APISERVER_ENDPOINT_IP"
	// PortEnv is the one with its port.
	PortEnv = "SUPERVISOR_APISERVER_PORT"

	tokenFile     = "token"
	caFile        = "ca.crt"
	namespaceFile = "namespace"

	// maxSmall bounds the size of a file of the credentials.
	maxSmall = 1 << 20
	// dialTimeout bounds one attempt to connect; there may be two addresses.
	dialTimeout = 5 * time.Second
)

// Config configures a [Connection].
type Config struct {
	// Directory has the files token, ca.crt and namespace; DefaultDirectory when empty.
	Directory string
	// Host is the Supervisor's name in URLs and in its certificate; DefaultHost when empty.
	Host string
	// Address is the IP address that is dialed first. Without one, or if it does not answer, Host is resolved.
	Address string
	// Port is the port of both.
	Port string
	// GuestCA is the certificate authority of the guest cluster's own API server, in PEM: it serves to recognize credentials
	// that lead to the guest cluster. It may be empty.
	GuestCA []byte
	// CallTimeout bounds each call except watches; 10 s when zero.
	CallTimeout time.Duration
	// UserAgent identifies the client.
	UserAgent string
	// Logger receives rotations; discarded when nil.
	Logger *slog.Logger
}

// Connection is a client of a Supervisor. Create it with [New]. It is safe for concurrent use.
type Connection struct {
	cfg  Config
	rest *rest.RESTClient
	http *http.Transport

	mu    sync.Mutex
	state State
	token string // of the last request
}

// State is the outcome of the last call.
type State struct {
	// Connected reports that the Supervisor answered the last call, and accepted the token.
	Connected bool
	// Since is the time of the last change of Connected; zero before the first call.
	Since time.Time
	// Err is why the last call failed; nil if Connected.
	Err error
}

// New returns a connection. It checks the files of the credentials and makes no call.
func New(cfg Config) (*Connection, error) {
	cfg.Directory = cmp.Or(cfg.Directory, DefaultDirectory)
	cfg.Host = cmp.Or(cfg.Host, DefaultHost)
	cfg.CallTimeout = cmp.Or(cfg.CallTimeout, 10*time.Second)
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	if cfg.Port == "" {
		return nil, fmt.Errorf("supervisor: the environment variable %s is not set: it is the port of %s", PortEnv, cfg.Host)
	}
	c := &Connection{cfg: cfg}
	if _, err := c.Namespace(); err != nil {
		return nil, err
	}
	if _, err := c.readToken(); err != nil {
		return nil, err
	}
	if _, err := c.authorities(); err != nil {
		return nil, err
	}
	c.http = &http.Transport{
		DialTLSContext:      c.dial,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: 16,
		IdleConnTimeout:     90 * time.Second,
		// A connection that has died is noticed although a watch is silent for minutes.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second},
	}
	rc := &rest.Config{
		Host:          c.URL(),
		Transport:     authenticated{c},
		UserAgent:     cfg.UserAgent,
		QPS:           100,
		Burst:         200,
		ContentConfig: rest.ContentConfig{NegotiatedSerializer: scheme.Codecs.WithoutConversion(), ContentType: "application/json"},
	}
	var err error
	if c.rest, err = rest.UnversionedRESTClientFor(rc); err != nil {
		return nil, fmt.Errorf("supervisor: %w", err)
	}
	return c, nil
}

// URL returns the Supervisor's address as https://host:port.
func (c *Connection) URL() string { return "https://" + net.JoinHostPort(c.cfg.Host, c.cfg.Port) }

// Directory returns the directory of the credentials.
func (c *Connection) Directory() string { return c.cfg.Directory }

// State returns the outcome of the last call.
func (c *Connection) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// Close ends idle connections.
func (c *Connection) Close() { c.http.CloseIdleConnections() }

// Namespace reads the namespace of the guest cluster on the Supervisor.
func (c *Connection) Namespace() (string, error) {
	data, err := c.read(namespaceFile)
	if err != nil {
		return "", err
	}
	name := strings.TrimSpace(string(data))
	if name == "" || strings.ContainsAny(name, "/ \n") {
		return "", fmt.Errorf("supervisor: %s: %q is not a namespace", filepath.Join(c.cfg.Directory, namespaceFile), name)
	}
	return name, nil
}

func (c *Connection) readToken() (string, error) {
	data, err := c.read(tokenFile)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(data))
	if token == "" {
		return "", fmt.Errorf("supervisor: %s is empty", filepath.Join(c.cfg.Directory, tokenFile))
	}
	return token, nil
}

func (c *Connection) authorities() (*x509.CertPool, error) {
	data, err := c.read(caFile)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("supervisor: %s: no certificate in it", filepath.Join(c.cfg.Directory, caFile))
	}
	return pool, nil
}

func (c *Connection) read(name string) ([]byte, error) {
	data, err := input.File(filepath.Join(c.cfg.Directory, name), maxSmall)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("supervisor: %w: the directory needs %s, %s and %s of the guest cluster's service account on the Supervisor",
			err, tokenFile, caFile, namespaceFile)
	}
	if err != nil {
		return nil, fmt.Errorf("supervisor: %w", err)
	}
	return data, nil
}

// leadsToGuest reports whether ca.crt is the guest cluster's own authority.
func (c *Connection) leadsToGuest() bool {
	data, err := c.read(caFile)
	return err == nil && len(c.cfg.GuestCA) > 0 && bytes.Equal(bytes.TrimSpace(data), bytes.TrimSpace(c.cfg.GuestCA))
}

// dial connects with the authorities that ca.crt has now. It tries the configured address and then the name: in a guest cluster
// whose nodes are not initialized yet, the cluster's DNS does not run, and an address from the environment may be outdated.
func (c *Connection) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	pool, err := c.authorities()
	if err != nil {
		return nil, err
	}
	var failed error
	for _, host := range []string{c.cfg.Address, c.cfg.Host} {
		if host == "" {
			continue
		}
		conn, err := c.dialTLS(ctx, network, net.JoinHostPort(host, c.cfg.Port), pool)
		if err == nil {
			return conn, nil
		}
		if failed = errors.Join(failed, err); errors.Is(err, errCertificate) || ctx.Err() != nil {
			break
		}
	}
	return nil, failed
}

var errCertificate = errors.New("certificate")

func (c *Connection) dialTLS(ctx context.Context, network, address string, pool *x509.CertPool) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	secure := tls.Client(conn, &tls.Config{RootCAs: pool, ServerName: c.cfg.Host, NextProtos: []string{"h2", "http/1.1"}})
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close() // the handshake's error says more
		if verification, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
			err = fmt.Errorf("%w of %s is not accepted: %w (%s in %s is the authority of another API server, or was replaced)",
				errCertificate, address, verification.Err, caFile, c.cfg.Directory)
		}
		return nil, err
	}
	return secure, nil
}

// authenticated adds the token that the file has now.
type authenticated struct{ c *Connection }

// RoundTrip implements [http.RoundTripper]. If the answer is a 401 and the file has another token by then, it sends the
// request once more.
func (a authenticated) RoundTrip(r *http.Request) (*http.Response, error) {
	token, err := a.c.readToken()
	if err != nil {
		return nil, err
	}
	a.c.noteToken(token)
	response, err := a.c.http.RoundTrip(withToken(r, token, r.Body))
	if err != nil || response.StatusCode != http.StatusUnauthorized {
		return response, err
	}
	newer, readErr := a.c.readToken()
	if readErr != nil || newer == token {
		return response, nil
	}
	body := r.Body
	if r.GetBody != nil {
		if body, err = r.GetBody(); err != nil {
			return response, nil //nolint:nilerr // the 401 is the answer then
		}
	} else if body != nil && body != http.NoBody {
		return response, nil
	}
	_, _ = io.CopyN(io.Discard, response.Body, maxSmall) // so that the connection can be used again
	_ = response.Body.Close()
	a.c.noteToken(newer)
	return a.c.http.RoundTrip(withToken(r, newer, body))
}

func withToken(r *http.Request, token string, body io.ReadCloser) *http.Request {
	r = r.Clone(r.Context())
	r.Body = body
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

// noteToken logs a rotation.
func (c *Connection) noteToken(token string) {
	c.mu.Lock()
	rotated := c.token != "" && c.token != token
	c.token = token
	c.mu.Unlock()
	if rotated {
		c.cfg.Logger.Info("supervisor token was rotated", "directory", c.cfg.Directory)
	}
}

// observe records the outcome of a call and returns its error in words. An answer about an object, such as a conflict, means that
// the Supervisor works.
func (c *Connection) observe(ctx context.Context, err error, r Resource) error {
	err = c.explain(ctx, err, r)
	reached := err == nil || !errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrUnauthorized)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.Since.IsZero() || c.state.Connected != reached {
		c.state.Since = time.Now()
	}
	c.state.Connected, c.state.Err = reached, nil
	if !reached {
		c.state.Err = err
	}
	return err
}

// decode is json.Unmarshal into an object that is replaced.
func decode(data []byte, into any) error {
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%w: the answer is not JSON of this resource: %w", ErrUnavailable, err)
	}
	return nil
}
