package gate

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
)

// wanted reports whether the gate is to listen; g.change is held.
func (g *Gate) wanted() bool {
	return !slices.ContainsFunc(g.inForce(), (*entry).outage)
}

// listenFor takes the address back if it will be listened on; g.change is held, and settle does the rest.
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

// keep reserves the address that nobody listens on, if it is to be listened on again; g.change is held.
func (g *Gate) keep() {
	if addr, err := net.ResolveTCPAddr("tcp", g.addr); err == nil && !g.closed {
		g.reserved = reserve(addr)
	}
}

// giveBack ends what keep has begun; g.change is held.
func (g *Gate) giveBack() {
	if g.reserved != nil {
		_ = g.reserved.Close() // nothing is written to it
		g.reserved = nil
	}
}

// settle goes up or down as mode and rules have it; g.change is held.
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

// serve starts an accept loop on l; g.change is held, or g is not shared yet.
func (g *Gate) serve(l net.Listener) {
	g.srv = &http.Server{
		Handler: http.HandlerFunc(g.handle),
		// Bounds the handshake as well: a client that connects and says nothing does not stay for ever.
		ReadHeaderTimeout: 30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          log.New(logWriter{g.opts.Logger}, "", 0),
		ConnState:         g.connections.follow,
		ConnContext:       withConn,
	}
	srv := g.srv
	g.serving.Go(func() {
		if err := srv.Serve(tls.NewListener(&door{Listener: l, gate: g}, g.opts.TLS)); !errors.Is(err, http.ErrServerClosed) {
			g.opts.Logger.Error("gate stopped serving", "addr", g.addr, "error", err)
		}
	})
}

// cut closes listener and connections and waits for the accept loop; g.change is held.
func (g *Gate) cut() {
	_ = g.srv.Close() // the listener's close error; it is closed either way
	g.serving.Wait()
	g.connections.closeHoles()
	g.holes.Wait()
	g.srv = nil
	g.keep()
}

// relisten takes the address back. Somebody else may have it for a moment (an outgoing connection with that local port,
// a probe for free ports), so an address in use is tried again for up to two seconds.
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

// certificate is what new handshakes are given.
type certificate struct {
	mu    sync.Mutex
	first []tls.Certificate
	now   *tls.Certificate // nil until swapped
}

// use makes config ask the gate for its certificate.
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

// SetCertificate swaps the certificate. Every handshake from now on gets the new one, none is resumed from before.
// Connections that are open stay; [Gate.CutConnections] makes their clients come again. A certificate without a key, or
// one that cannot be parsed, is refused.
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
	// A session that is resumed shows no certificate.
	var key [32]byte
	_, _ = rand.Read(key[:]) // never fails
	g.opts.TLS.SetSessionTicketKeys([][32]byte{key})
	return nil
}
