package front

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/console"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/guard"
)

// Guard decides which requests continue to the vCenter. Pass calls forward with the request to send, or returns a
// [*guard.Refusal]. body is the complete body of the request.
type Guard interface {
	Pass(r *http.Request, body []byte, forward func(*http.Request) error) error
}

// Options configures [New]. VCenter, Listener, CA and Guard are required.
type Options struct {
	// VCenter is the vCenter behind the front.
	VCenter vcenter.VCenter
	// Listener is where clients connect; the front takes it over. Use a loopback address: any client that reaches it can try
	// passwords.
	Listener *net.TCPListener
	// CA signs the front's certificate, for the listener's address, localhost and Names.
	CA    *cert.CA
	Names []string
	// Guard checks every request.
	Guard Guard
	// ObjectName returns the name of an object in the inventory, or "", for faults of some objects. It must not block. Optional.
	ObjectName func(types.ManagedObjectReference) string
	// OnMode is called with changes of the gate; see gate.Options.
	OnMode func(from, to gate.Mode)
	// OnSession is called with each new session of a client, a secret, before the client gets it. It must not block. Optional.
	OnSession func(string)
	// Logger receives problems of the connection to the vCenter. Default: discarded.
	Logger *slog.Logger
}

// Front is the front of one vCenter. Its methods are safe for concurrent use.
type Front struct {
	opts     Options
	addr     *net.TCPAddr
	leaf     cert.Leaf
	pair     *cert.Pair
	proxy    *proxy
	sessions *sessions
	gate     *gate.Gate
	console  *console.Console
}

// New opens the front, without a call to the vCenter. Call Close to end it.
func New(o Options) (*Front, error) {
	if o.Listener == nil || o.CA == nil || o.Guard == nil || o.VCenter.Server == "" {
		return nil, errors.New("front: needs a vCenter, a listener, an authority and a guard")
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	addr, ok := o.Listener.Addr().(*net.TCPAddr)
	if !ok {
		return nil, errors.New("front: listens on no TCP address")
	}
	f := &Front{opts: o, addr: addr, sessions: newSessions(o.OnSession)}
	f.leaf = cert.Leaf{CommonName: o.VCenter.Name, DNSNames: []string{"localhost"}, IPs: []net.IP{addr.IP}}
	for _, name := range o.Names {
		if ip := net.ParseIP(name); ip != nil {
			f.leaf.IPs = append(f.leaf.IPs, ip)
		} else {
			f.leaf.DNSNames = append(f.leaf.DNSNames, name)
		}
	}
	var err error
	if f.pair, err = o.CA.Sign(f.leaf); err != nil {
		return nil, err
	}
	f.proxy = newProxy(o, f.Addr(), f.sessions)
	config := &tls.Config{Certificates: []tls.Certificate{f.pair.TLS()}, MinVersion: tls.VersionTLS12}
	f.console = console.Open(f.proxy, config, o.Logger)
	f.gate = gate.New(o.Listener, f.proxy, gate.Options{
		TLS: config, Logger: o.Logger, OnMode: o.OnMode,
		Identify: f.sessions.identify, Name: o.ObjectName, DropSession: f.sessions.drop,
	})
	return f, nil
}

// Close ends the front: it disconnects clients and aborts calls in progress. The vCenter is not affected.
func (f *Front) Close(ctx context.Context) error {
	f.gate.Cut()
	f.console.Close()
	f.proxy.close()
	return f.gate.Close(ctx)
}

// Gate returns the gate, which injects faults and counts calls.
func (f *Front) Gate() *gate.Gate { return f.gate }

// Host returns the IP address on which the front listens.
func (f *Front) Host() string { return f.addr.IP.String() }

// Port returns the port on which the front listens.
func (f *Front) Port() int { return f.addr.Port }

// Addr returns "host:port".
func (f *Front) Addr() string { return net.JoinHostPort(f.Host(), strconv.Itoa(f.addr.Port)) }

// URL returns the address of the SOAP endpoint, without user.
func (f *Front) URL() *url.URL { return &url.URL{Scheme: "https", Host: f.Addr(), Path: vim25.Path} }

// Certificate returns the front's first certificate (PEM).
func (f *Front) Certificate() []byte { return f.pair.Cert }

// DialConsole returns a connection that bypasses the gate: it does not count the calls, and its outages do not affect them. The
// guard still checks them. The caller must use TLS on it.
func (f *Front) DialConsole(ctx context.Context) (net.Conn, error) { return f.console.Dial(ctx) }

// maxBody limits a request in memory, in bytes, as the gate does.
const maxBody = 64 << 20

// idle is the number of kept connections to the vCenter: several clients with a handful each.
const idle = 64

// proxy passes on the requests that the guard allows.
type proxy struct {
	opts      Options
	front     string // host:port
	sessions  *sessions
	transport *http.Transport
	reverse   *httputil.ReverseProxy
}

func newProxy(o Options, front string, s *sessions) *proxy {
	p := &proxy{opts: o, front: front, sessions: s}
	p.transport = &http.Transport{
		DialTLSContext:      func(ctx context.Context, _, _ string) (net.Conn, error) { return o.VCenter.DialTLS(ctx) },
		MaxIdleConnsPerHost: idle, IdleConnTimeout: time.Minute,
		DisableCompression: true, // the client gets the encoding that it requested
	}
	target := &url.URL{Scheme: "https", Host: o.VCenter.Address()}
	p.reverse = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			s.forget(r.Out)
		},
		Transport: p.transport, FlushInterval: -1, // every byte at once
		ModifyResponse: p.answer,
		ErrorHandler:   p.failed,
		ErrorLog:       log.New(lines{o.Logger}, "", 0),
	}
	return p
}

// ServeHTTP serves a request from a client through the gate, or from the console.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := readBody(w, r)
	if err != nil {
		code := http.StatusBadRequest
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			code = http.StatusRequestEntityTooLarge
		}
		p.refused(r, "", err)
		http.Error(w, err.Error(), code)
		return
	}
	r = r.WithContext(p.sessions.login(r, body))
	err = p.opts.Guard.Pass(r, body, func(out *http.Request) error {
		seen := &status{ResponseWriter: w}
		p.reverse.ServeHTTP(seen, out)
		if seen.code >= http.StatusBadRequest {
			return fmt.Errorf("was answered with status %d", seen.code)
		}
		return nil
	})
	if refusal := (*guard.Refusal)(nil); errors.As(err, &refusal) {
		p.refused(r, refusal.Operation, refusal.Err)
		discard(r)
		refuse(w, r, refusal)
	}
}

// discard reads what the client still sends, at most maxBody, without keeping it. A client that writes on a connection that the server
// has closed sees a reset in place of the reason.
func discard(r *http.Request) {
	if r.Body != nil {
		_, _ = io.CopyN(io.Discard, r.Body, maxBody) // an error is that of a client that has gone
	}
}

// refused logs a request that does not reach the vCenter.
func (p *proxy) refused(r *http.Request, operation string, reason error) {
	p.opts.Logger.Warn("refused", "vcenter", p.opts.VCenter.Name, "method", brief(r.Method), "path", brief(r.URL.Path),
		"operation", brief(operation), "client", brief(r.UserAgent()), "reason", brief(reason.Error()))
}

// brief shortens a client's text for the log.
func brief(s string) string {
	const most = 300
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// readBody reads the body of methods that may have one. For others, such as PUT, it refuses a body at its first byte.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	if r.Method != http.MethodPost {
		return io.ReadAll(io.LimitReader(r.Body, 1))
	}
	return io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
}

// answer changes what would lead clients past the front, and records sessions.
func (p *proxy) answer(a *http.Response) error {
	for i, cookie := range a.Header["Set-Cookie"] {
		a.Header["Set-Cookie"][i] = withoutDomain(cookie)
	}
	if to, err := url.Parse(a.Header.Get("Location")); err == nil && (to.Host == p.opts.VCenter.Address() || to.Hostname() == p.opts.VCenter.Server && to.Port() == "") && to.Host != "" {
		to.Host = p.front
		a.Header.Set("Location", to.String())
	}
	return p.sessions.learn(a)
}

// withoutDomain returns a cookie that only goes back to the server that set it.
func withoutDomain(cookie string) string {
	parts := strings.Split(cookie, ";")
	kept := parts[:1]
	for _, part := range parts[1:] {
		if !strings.HasPrefix(strings.ToLower(strings.TrimSpace(part)), "domain=") {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, ";")
}

// failed answers for an unreachable vCenter, as the reverse proxy of a vCenter does.
func (p *proxy) failed(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		panic(http.ErrAbortHandler) // the client has disconnected
	}
	p.opts.Logger.Warn("the way to the vCenter", "vcenter", p.opts.VCenter.Name, "err", err)
	http.Error(w, "503 Service Unavailable: "+err.Error(), http.StatusServiceUnavailable)
}

func (p *proxy) close() { p.transport.CloseIdleConnections() }

// status records the status of an answer.
type status struct {
	http.ResponseWriter
	code int
}

func (s *status) WriteHeader(code int) {
	if code >= http.StatusOK {
		s.code = code
	}
	s.ResponseWriter.WriteHeader(code)
}

// Unwrap gives http.ResponseController access to the connection.
func (s *status) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// lines converts messages of net/http to log records.
type lines struct{ logger *slog.Logger }

func (l lines) Write(text []byte) (int, error) {
	l.logger.Debug("front", "line", strings.TrimSpace(string(text)))
	return len(text), nil
}

// refuse answers in the place of the vCenter, in the form that the client expects: the refused request, why, and what to try. The
// status is 403, except for a valid SOAP call: SOAP requires 500 for a fault, and clients show a fault only with that status.
func refuse(w http.ResponseWriter, r *http.Request, refusal *guard.Refusal) {
	why := refusal.Error()
	switch {
	case strings.HasPrefix(r.URL.Path, "/rest/"), strings.HasPrefix(r.URL.Path, "/api/"):
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		message := map[string]any{"id": "vsphere-sandbox.write.refused", "default_message": why, "args": []string{}}
		// The only possible error is a disconnected client.
		_ = json.NewEncoder(w).Encode(map[string]any{
			"type": "com.vmware.vapi.std.errors.unauthorized", "value": map[string]any{"messages": []any{message}},
		})
	case guard.SOAP(r):
		w.Header().Set("Content-Type", "text/xml; charset=utf-8")
		if refusal.Operation == "" {
			w.WriteHeader(http.StatusForbidden)
		} else {
			w.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = w.Write(noPermission(why, refusal)) // as above
	default:
		http.Error(w, why, http.StatusForbidden)
	}
}

// noPermission returns a fault of the vSphere API.
func noPermission(why string, refusal *guard.Refusal) []byte {
	escape := func(s string) string {
		var b bytes.Buffer
		_ = xml.EscapeText(&b, []byte(s)) // a buffer never fails
		return b.String()
	}
	object := ""
	if refusal.This.Value != "" {
		object = `<object type="` + escape(refusal.This.Type) + `">` + escape(refusal.This.Value) + `</object>`
	}
	return []byte(xml.Header +
		`<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsd="http://www.w3.org/2001/XMLSchema"` +
		` xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soapenv:Body><soapenv:Fault><faultcode>ServerFaultCode</faultcode>` +
		`<faultstring>` + escape(why) + `</faultstring><detail><NoPermissionFault xmlns="urn:vim25" xsi:type="NoPermission">` + object +
		`<privilegeId></privilegeId></NoPermissionFault></detail></soapenv:Fault></soapenv:Body></soapenv:Envelope>`)
}

// NewCertificate issues a certificate for the front, with a new key. It is in use once the gate gets it.
func (f *Front) NewCertificate(w cert.Options) (tls.Certificate, error) {
	return f.opts.CA.Replace(f.leaf, w)
}

// FirstCertificate returns the front's first certificate.
func (f *Front) FirstCertificate() tls.Certificate { return f.pair.TLS() }
