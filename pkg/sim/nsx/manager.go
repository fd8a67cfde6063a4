package nsx

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/nsx/tree"
)

// Options configure [Start]. CA and Accounts are required.
type Options struct {
	// CA signs the certificate of the manager, and those of clients that authenticate by one.
	CA *cert.CA
	// Accounts are the users.
	Accounts []Account
	// Names are further DNS names and addresses of the certificate: those by which clients elsewhere reach the manager. Optional.
	Names []string
	// Realize is the time from a change of an object to its realization.
	Realize time.Duration
	// Changed is called after each change of an object, with the verb, the object's path and the user. Optional.
	Changed func(verb, path, user string)
	// OnSession is called with the cookie and the token of each new session: secrets as long as the session is open. Optional.
	OnSession func(...string)
	// OnMode is called with every change of the gate's mode, as [gate.Options] has it. Optional.
	OnMode func(from, to gate.Mode)
	// Logger receives messages of the gate. Default: discarded.
	Logger *slog.Logger
}

// Manager is a running NSX Manager. Its methods are safe for concurrent use.
type Manager struct {
	tree     *tree.Tree
	gate     *gate.Gate
	accounts *accounts
	sessions *sessions
}

// Start serves an NSX Manager on l, which it takes over. Call [Manager.Close] to end it.
func Start(l net.Listener, o Options) (*Manager, error) {
	tcp, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return nil, fmt.Errorf("NSX Manager: listens on a %s address", l.Addr().Network())
	}
	leaf := cert.Leaf{CommonName: "nsx", DNSNames: []string{"localhost"}, IPs: []net.IP{tcp.IP}}
	for _, name := range o.Names {
		if ip := net.ParseIP(name); ip != nil {
			leaf.IPs = append(leaf.IPs, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, name)
		}
	}
	pair, err := o.CA.Sign(leaf)
	if err != nil {
		return nil, fmt.Errorf("NSX Manager: %w", err)
	}
	known, err := newAccounts(o.Accounts)
	if err != nil {
		return nil, fmt.Errorf("NSX Manager: %w", err)
	}
	m := &Manager{
		tree:     tree.New(tree.Options{Delay: o.Realize, Changed: o.Changed}),
		accounts: known,
		sessions: &sessions{open: map[string]*session{}, opened: o.OnSession},
	}
	m.gate = gate.New(l, m.handler(), gate.Options{
		TLS: &tls.Config{
			Certificates: []tls.Certificate{pair.TLS()},
			// A certificate is optional. One of another authority is refused in the handshake, as NSX does.
			ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: o.CA.Pool(), MinVersion: tls.VersionTLS12,
		},
		Logger:      cmp.Or(o.Logger, slog.New(slog.DiscardHandler)),
		OnMode:      o.OnMode,
		Identify:    m.identify,
		DropSession: m.sessions.end, NSX: true,
	})
	return m, nil
}

// Addr returns the host:port at which the manager listens.
func (m *Manager) Addr() string { return m.gate.Addr() }

// Tree returns the objects.
func (m *Manager) Tree() *tree.Tree { return m.tree }

// Gate returns what stands before the API.
func (m *Manager) Gate() *gate.Gate { return m.gate }

// SetPassword changes the password of a user. It ends the user's sessions.
func (m *Manager) SetPassword(user, password string) error {
	if err := m.accounts.setPassword(user, password); err != nil {
		return err
	}
	m.sessions.endOf(user)
	return nil
}

// Reject makes the credentials of a user invalid, as when they were replaced: the password or the certificate. It ends the user's
// sessions. With false they are valid again.
func (m *Manager) Reject(user string, rejected bool) error {
	if err := m.accounts.reject(user, rejected); err != nil {
		return err
	}
	if rejected {
		m.sessions.endOf(user)
	}
	return nil
}

// Users returns the names of the users, sorted.
func (m *Manager) Users() []string { return m.accounts.names() }

// EndSessions ends all sessions and returns their number.
func (m *Manager) EndSessions() int { return m.sessions.endOf("") }

// Sessions returns the number of open sessions.
func (m *Manager) Sessions() int { return m.sessions.count() }

// Close cuts the API and waits for calls in progress.
func (m *Manager) Close(ctx context.Context) error { return m.gate.Close(ctx) }
