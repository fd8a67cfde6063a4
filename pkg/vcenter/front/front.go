package front

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/console"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
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
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
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
