package feed

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// Path is where a source is served.
const Path = "/v1/machines"

// Where says where a source is and how it is asked. The files are read at each connection, so that they may be renewed.
type Where struct {
	// URL is "unix:PATH", a socket, or "https://HOST[:PORT][/PATH]", whose path is [Path] when it has none.
	URL string
	// TokenFile holds a bearer token; CAFile the authorities, in PEM, that the server's certificate is verified against
	// (without it the machine's). Both are for https.
	TokenFile, CAFile string
}

// Validate tells why a source cannot be asked like that.
func (w Where) Validate() error {
	if path, ok := strings.CutPrefix(w.URL, "unix:"); ok {
		if path == "" || w.TokenFile != "" || w.CAFile != "" {
			return fmt.Errorf("feed %q: must be unix:PATH, without token and CA, which are for https", w.URL)
		}
		return nil
	}
	u, err := url.Parse(w.URL)
	if err == nil && u.User != nil {
		return fmt.Errorf("feed %q: must not hold a user; a token is read from a file", u.Redacted())
	}
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("feed %q: must be unix:PATH or https://HOST[:PORT]", w.URL)
	}
	return nil
}

// connectTimeout bounds everything up to the header of the answer.
const connectTimeout = 10 * time.Second

// request returns a client for one stream and what it asks.
func (w Where) request(ctx context.Context) (*http.Client, *http.Request, error) {
	d := net.Dialer{Timeout: connectTimeout}
	transport := &http.Transport{DisableKeepAlives: true, TLSHandshakeTimeout: connectTimeout, ResponseHeaderTimeout: connectTimeout, DialContext: d.DialContext}
	to := w.URL
	if path, ok := strings.CutPrefix(to, "unix:"); ok {
		to = "http://source" + Path
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return d.DialContext(ctx, "unix", path) }
	} else if u, err := url.Parse(to); err == nil && strings.Trim(u.Path, "/") == "" {
		u.Path = Path
		to = u.String()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, to, nil)
	if err != nil {
		return nil, nil, err
	}
	if w.CAFile != "" {
		pem, err := os.ReadFile(w.CAFile)
		if err != nil {
			return nil, nil, err
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(pem) {
			return nil, nil, fmt.Errorf("%s: holds no certificate", w.CAFile)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	if w.TokenFile != "" {
		token, err := os.ReadFile(w.TokenFile)
		if err != nil {
			return nil, nil, err
		}
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	// A redirect would carry the token elsewhere.
	refuse := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &http.Client{Transport: transport, CheckRedirect: refuse}, req, nil
}
