package gate

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
)

// wanted reports whether the gate must listen. The caller holds g.change.
func (g *Gate) wanted() bool {
	return !slices.ContainsFunc(g.inForce(), (*entry).outage)
}

// listenFor binds the address if the gate must listen; settle then serves it. The caller holds g.change.
func (g *Gate) listenFor(ctx context.Context) (err error) {
	if g.closed || g.srv != nil || g.listener != nil || !g.wanted() {
		return nil
	}
	g.giveBack()
	if g.listener, err = relisten(ctx, g.addr); err != nil {
		g.keep()
	}
	return err
}

// keep reserves the address while the gate does not listen, if it will listen again. The caller holds g.change.
func (g *Gate) keep() {
	if addr, err := net.ResolveTCPAddr("tcp", g.addr); err == nil && !g.closed {
		g.reserved = reserve(addr)
	}
}

// giveBack releases the reservation of keep. The caller holds g.change.
func (g *Gate) giveBack() {
	if g.reserved != nil {
		_ = g.reserved.Close() // nothing was written to it
		g.reserved = nil
	}
}

// settle starts or stops listening as mode and rules demand. The caller holds g.change.
func (g *Gate) settle() {
	up := g.wanted()
	switch {
	case up && g.srv == nil && g.listener != nil:
		g.serve(g.listener)
		g.listener = nil
	case !up && g.listener != nil:
		_ = g.listener.Close()
		g.listener = nil
		g.keep()
	case !up && g.srv != nil:
		g.cut()
	}
}

// serve starts an accept loop on l. The caller holds g.change, or g is not shared yet.
func (g *Gate) serve(l net.Listener) {
	g.srv = &http.Server{
		Handler: http.HandlerFunc(g.handle),
		// It also limits the handshake: a silent client does not stay.
		ReadHeaderTimeout: 30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          log.New(logWriter{g.opts.Logger}, "", 0),
		ConnState:         g.connections.follow,
		ConnContext:       withConn,
	}
	srv := g.srv
	g.served = l
	var accepted net.Listener = &ruleListener{Listener: l, gate: g}
	if !g.opts.Plain {
		accepted = tls.NewListener(accepted, g.opts.TLS)
	}
	g.serving.Go(func() {
		if err := srv.Serve(accepted); !errors.Is(err, http.ErrServerClosed) {
			g.opts.Logger.Error("gate stopped serving", "addr", g.addr, "error", err)
		}
	})
}

// cut closes listener and connections and waits for the accept loop. The caller holds g.change.
func (g *Gate) cut() {
	_ = g.srv.Close() // the listener's close error; it is closed in either case
	g.serving.Wait()
	g.connections.closeBlackHoles()
	g.blackHoles.Wait()
	g.srv, g.served = nil, nil
	g.keep()
}

// relisten binds the address. Another process may hold it for a short time (an outgoing connection with that local port, a probe
// for free ports), so relisten retries for up to two seconds.
func relisten(ctx context.Context, addr string) (net.Listener, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	for {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
		if err == nil {
			return l, nil
		}
		if backoff.Sleep(ctx, 50*time.Millisecond) != nil {
			return nil, fmt.Errorf("gate %s: cannot listen again: %w", addr, err)
		}
	}
}

// logWriter turns net/http's lines into log records.
type logWriter struct{ logger *slog.Logger }

func (w logWriter) Write(p []byte) (int, error) {
	n := len(p)
	for n > 0 && p[n-1] == '\n' {
		n--
	}
	w.logger.Debug("gate server", "line", string(p[:n]))
	return len(p), nil
}

// certificate is the certificate for new handshakes.
type certificate struct {
	mu    sync.Mutex
	first []tls.Certificate
	now   *tls.Certificate // nil until replaced
}

// use makes config get its certificate from the gate.
func (c *certificate) use(config *tls.Config) *tls.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	config.NextProtos = []string{"http/1.1"}
	before := config.GetCertificate
	c.first, config.Certificates = config.Certificates, nil
	config.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		switch {
		case c.now != nil:
			return c.now, nil
		case before != nil:
			if found, err := before(hello); found != nil || err != nil {
				return found, err
			}
		}
		for i := range c.first {
			if hello.SupportsCertificate(&c.first[i]) == nil {
				return &c.first[i], nil
			}
		}
		if len(c.first) == 0 {
			return nil, errors.New("no certificate")
		}
		return &c.first[0], nil
	}
	return config
}

// SetCertificate replaces the certificate. New handshakes use it, and none resumes an older session. Open connections stay;
// [Gate.CutConnections] makes their clients reconnect. It refuses a certificate without a key, or one that cannot be parsed.
func (g *Gate) SetCertificate(to tls.Certificate) error {
	if len(to.Certificate) == 0 || to.PrivateKey == nil {
		return fmt.Errorf("gate %s: a certificate needs a chain and a private key", g.addr)
	}
	if to.Leaf == nil {
		leaf, err := x509.ParseCertificate(to.Certificate[0])
		if err != nil {
			return fmt.Errorf("gate %s: certificate: %w", g.addr, err)
		}
		to.Leaf = leaf
	}
	c := &g.certificate
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = &to
	// A resumed session shows no certificate.
	var key [32]byte
	_, _ = rand.Read(key[:]) // never fails
	g.opts.TLS.SetSessionTicketKeys([][32]byte{key})
	return nil
}

// connections tracks the open connections. The zero value is ready.
type connections struct {
	mu         sync.Mutex
	open       map[net.Conn]struct{}
	blackHoles map[net.Conn]struct{} // in black holes, unknown to net/http
}

// follow is the ConnState hook of net/http.
func (c *connections) follow(conn net.Conn, s http.ConnState) {
	if s != http.StateNew && s != http.StateClosed && s != http.StateHijacked {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s != http.StateNew {
		delete(c.open, conn)
		return
	}
	if c.open == nil {
		c.open = make(map[net.Conn]struct{})
	}
	c.open[conn] = struct{}{}
}

// count returns the number of connections that net/http serves.
func (c *connections) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open)
}

// addBlackHole registers a connection for discard.
func (c *connections) addBlackHole(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.blackHoles == nil {
		c.blackHoles = make(map[net.Conn]struct{})
	}
	c.blackHoles[conn] = struct{}{}
}

// discard reads from a connection until the client gives up or the rule ends, and then resets it.
func (c *connections) discard(conn net.Conn, e *entry) {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = io.Copy(io.Discard, conn)
	}()
	select {
	case <-gone:
	case <-e.done:
	}
	reset(conn)
	<-gone
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.blackHoles, conn)
}

// closeBlackHoles resets the connections in black blackHoles.
func (c *connections) closeBlackHoles() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.blackHoles {
		reset(conn)
	}
}

// CutConnections closes all open connections and returns their number. New ones are accepted at once; calls in progress are lost.
func (g *Gate) CutConnections() int {
	c := &g.connections
	c.mu.Lock()
	conns := make([]net.Conn, 0, len(c.open))
	for conn := range c.open {
		conns = append(conns, conn)
	}
	c.mu.Unlock()
	for _, conn := range conns {
		_ = conn.Close()
	}
	return len(conns)
}

// ruleListener accepts connections, except those that a rule about all calls refuses or discards.
type ruleListener struct {
	net.Listener
	gate *Gate
}

// Accept returns the next connection that passes the rules.
func (d *ruleListener) Accept() (net.Conn, error) {
next:
	for {
		conn, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		for _, e := range d.gate.table.Load().conns {
			if hit, _ := e.draw(""); !hit {
				continue
			}
			if _, refuse := e.rule.Action.(Refuse); refuse {
				reset(conn)
			} else {
				d.gate.connections.addBlackHole(conn)
				d.gate.blackHoles.Go(func() { d.gate.connections.discard(conn, e) })
			}
			continue next
		}
		return conn, nil
	}
}

type connKey struct{}

// withConn adds the connection to the context of its requests.
func withConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// resetCall resets the connection of a request.
func resetCall(r *http.Request) {
	if conn, ok := r.Context().Value(connKey{}).(net.Conn); ok {
		reset(conn)
	}
}

// reset closes a connection with RST instead of FIN, and without TLS's close_notify.
func reset(conn net.Conn) {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
