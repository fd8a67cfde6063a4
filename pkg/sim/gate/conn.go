package gate

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"sync"
)

// connections knows what is connected. The zero value is ready.
type connections struct {
	mu    sync.Mutex
	open  map[net.Conn]struct{}
	holes map[net.Conn]struct{} // in black holes, unknown to net/http
}

// follow is told of connections by net/http.
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

// count counts those that net/http serves.
func (c *connections) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open)
}

// hole says that a connection will be swallowed.
func (c *connections) hole(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holes == nil {
		c.holes = make(map[net.Conn]struct{})
	}
	c.holes[conn] = struct{}{}
}

// swallow reads what a client says until it gives up or the rule ends; the connection is reset then.
func (c *connections) swallow(conn net.Conn, e *entry) {
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
	delete(c.holes, conn)
}

// closeHoles resets the connections in black holes.
func (c *connections) closeHoles() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.holes {
		reset(conn)
	}
}

// CutConnections closes all connections that are open, without a word, and returns how many there were. New ones are
// welcome at once; calls under way are lost.
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

// door is where connections come in: rules about all calls refuse them here, or swallow them.
type door struct {
	net.Listener
	gate *Gate
}

// Accept returns the next connection that no rule takes.
func (d *door) Accept() (net.Conn, error) {
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
				d.gate.connections.hole(conn)
				d.gate.holes.Go(func() { d.gate.connections.swallow(conn, e) })
			}
			continue next
		}
		return conn, nil
	}
}

type connKey struct{}

// withConn lets calls reach their connection.
func withConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// resetCall resets the connection that a request came by.
func resetCall(r *http.Request) {
	if conn, ok := r.Context().Value(connKey{}).(net.Conn); ok {
		reset(conn)
	}
}

// reset closes a connection with RST instead of FIN, and without TLS's farewell.
func reset(conn net.Conn) {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
