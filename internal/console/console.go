// Package console serves an HTTP API on connections inside the process, over TLS: for the operator of a vCenter or its
// proxy, past the gate that its clients go through.
//
//	c := console.Open(handler, config, logger)
//	defer c.Close()
//	conn, err := c.Dial(ctx) // expects a TLS client
//
// Floor 0: it imports nothing of this module.
package console

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
)

// Console is a server without an address: outages of the gate are for clients, and an operator must be able to pull a VM's
// plug while the vCenter is down. Make it with [Open]; its methods may be called from any goroutine.
type Console struct {
	server *http.Server
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
	served chan struct{}
}

var errClosed = errors.New("console: it is closed")

// Open serves a handler until [Console.Close]. What the server has to say goes to logger, at debug level.
func Open(handler http.Handler, config *tls.Config, logger *slog.Logger) *Console {
	c := &Console{
		server: &http.Server{Handler: handler, ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug)},
		conns:  make(chan net.Conn),
		closed: make(chan struct{}),
		served: make(chan struct{}),
	}
	go func() {
		defer close(c.served)
		_ = c.server.Serve(tls.NewListener(listener{c}, config)) // ends with ErrServerClosed
	}()
	return c
}

// Dial returns the client's end of a new connection, which expects a TLS handshake.
func (c *Console) Dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case c.conns <- server:
		return client, nil
	case <-c.closed:
		return nil, errClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Close cuts every connection and waits until none is accepted any more.
func (c *Console) Close() {
	_ = c.server.Close()
	<-c.served
}

// listener is the server's side: a net.Listener.
type listener struct{ c *Console }

func (l listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.c.conns:
		return conn, nil
	case <-l.c.closed:
		return nil, net.ErrClosed
	}
}

func (l listener) Close() error {
	l.c.once.Do(func() { close(l.c.closed) })
	return nil
}

func (listener) Addr() net.Addr { return addr{} }

type addr struct{}

func (addr) Network() string { return "console" }
func (addr) String() string  { return "console" }
