package gate

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"sync"
)

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
