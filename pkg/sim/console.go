package sim

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
)

// console serves a vCenter to whoever runs the simulation, past the gate: its outages are for clients, and an operator
// must be able to pull a VM's plug while the vCenter is down. It is the same API over the same TLS, on connections
// inside the process.
type console struct {
	server *http.Server
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
	served chan struct{}
}

var errConsoleClosed = errors.New("vcenter is closed")

func openConsole(handler http.Handler, config *tls.Config, logger *slog.Logger) *console {
	c := &console{
		server: &http.Server{Handler: handler, ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug)},
		conns:  make(chan net.Conn),
		closed: make(chan struct{}),
		served: make(chan struct{}),
	}
	go func() {
		defer close(c.served)
		_ = c.server.Serve(tls.NewListener(c, config)) // ends with ErrServerClosed
	}()
	return c
}

// dial returns the client's end of a new connection.
func (c *console) dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case c.conns <- server:
		return client, nil
	case <-c.closed:
		return nil, errConsoleClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// close cuts every connection and waits until none is accepted any more.
func (c *console) close() {
	_ = c.server.Close()
	<-c.served
}

// Accept implements net.Listener.
func (c *console) Accept() (net.Conn, error) {
	select {
	case conn := <-c.conns:
		return conn, nil
	case <-c.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (c *console) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// Addr implements net.Listener.
func (c *console) Addr() net.Addr { return consoleAddr{} }

type consoleAddr struct{}

func (consoleAddr) Network() string { return "console" }
func (consoleAddr) String() string  { return "console" }

// DialConsole returns a connection to the vCenter's API, on which TLS is to be spoken, that its gate knows nothing of:
// neither does it count the calls, nor do its outages reach them.
func (v *VCenter) DialConsole(ctx context.Context) (net.Conn, error) { return v.console.dial(ctx) }
