package real

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
)

// proxy forwards to a stand-in, with a separate certificate. Its behavior may be changed at any time.
type proxy struct {
	*standIn

	mu     sync.Mutex
	delay  func(method string) time.Duration
	hold   func(method string) bool
	clock  time.Duration
	held   chan string // a method each time that a call of it is held back
	closed chan struct{}
}

// newProxy starts one, which ends with the test.
func newProxy(t *testing.T, s *standIn) *proxy {
	t.Helper()
	ca, err := cert.NewCA("authority of the proxy")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := ca.Sign(cert.Leaf{CommonName: "proxy", IPs: []net.IP{net.IPv4(127, 0, 0, 1)}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, ca.Cert, 0o600); err != nil {
		t.Fatal(err)
	}
	pem, err := os.ReadFile(s.ca)
	if err != nil {
		t.Fatal(err)
	}
	behind := x509.NewCertPool()
	behind.AppendCertsFromPEM(pem)
	p := &proxy{held: make(chan string, 100), closed: make(chan struct{})}
	to := &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "https", Host: s.address}) },
		Transport:      &http.Transport{TLSClientConfig: &tls.Config{RootCAs: behind}},
		ModifyResponse: p.answer,
		ErrorLog:       log.New(io.Discard, "", 0),
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if p.wait(r) {
				to.ServeHTTP(w, r)
			}
		}),
		ErrorLog: log.New(io.Discard, "", 0),
	}
	p.standIn = s.at(l.Addr().String(), file)
	var served sync.WaitGroup
	served.Go(func() { _ = server.Serve(tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{pair.TLS()}})) })
	t.Cleanup(func() {
		close(p.closed)
		_ = server.Close()
		served.Wait()
	})
	return p
}

// set changes what it does.
func (p *proxy) set(change func(*proxy)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
}

var call = regexp.MustCompile(`<(?:\w+:)?Body[^>]*>\s*<(?:\w+:)?(\w+)`)

// wait lets the time pass that a call is to take, and says whether it is still to be passed on.
func (p *proxy) wait(r *http.Request) bool {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return false
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	method := r.URL.Path
	if m := call.FindSubmatch(body); m != nil {
		method = string(m[1])
	}
	p.mu.Lock()
	delay, hold := p.delay, p.hold
	p.mu.Unlock()
	if hold != nil && hold(method) {
		p.held <- method
		select {
		case <-r.Context().Done(): // the client has hung up
		case <-p.closed:
		}
		return false
	}
	var late time.Duration
	if delay != nil {
		late = delay(method)
	}
	if late == 0 {
		return true
	}
	timer := time.NewTimer(late)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
	case <-p.closed:
	}
	return false
}

var instant = regexp.MustCompile(`(<returnval[^>]*>)([^<]+)(</returnval>)`)

// answer puts the clock wrong where that is wanted.
func (p *proxy) answer(r *http.Response) error {
	p.mu.Lock()
	off := p.clock
	p.mu.Unlock()
	if off == 0 || !strings.Contains(r.Header.Get("Content-Type"), "xml") {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	if bytes.Contains(body, []byte("CurrentTimeResponse")) {
		body = instant.ReplaceAllFunc(body, func(b []byte) []byte {
			m := instant.FindSubmatch(b)
			at, err := time.Parse(time.RFC3339Nano, string(m[2]))
			if err != nil {
				return b
			}
			return []byte(string(m[1]) + at.Add(off).Format(time.RFC3339Nano) + string(m[3]))
		})
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Del("Content-Length")
	return nil
}
