package wire

import (
	"cmp"
	"context"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// conn is one connection over a wire.
type conn struct {
	wire   *Wire
	client *net.TCPConn
	muted  atomic.Bool // bytes vanish; there is no way back from it
	ctx    context.Context
	cancel context.CancelFunc // it is reset

	mu     sync.Mutex
	server *net.TCPConn // nil until connected
}

func newConn(w *Wire, client *net.TCPConn) *conn {
	c := &conn{wire: w, client: client}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// mute lets bytes vanish, also those that wait for a peer that does not read.
func (c *conn) mute() {
	c.muted.Store(true)
	c.each(func(s *net.TCPConn) { _ = s.SetWriteDeadline(time.Unix(1, 0)) })
}

// reset ends the connection in a way that both peers notice.
func (c *conn) reset() {
	c.cancel()
	c.each(abort)
}

// abort sends RST.
func abort(s *net.TCPConn) {
	_ = s.SetLinger(0)
	_ = s.Close()
}

// each does f to the sockets that there are; errors are those of sockets that are closed already.
func (c *conn) each(f func(*net.TCPConn)) {
	f(c.client)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server != nil {
		f(c.server)
	}
}

// run lives as long as the connection.
func (c *conn) run() {
	defer c.cancel()
	if c.muted.Load() { // from its beginning: there is nobody at the far end
		pump(c, c.client, nil)
		_ = c.client.Close()
		return
	}
	if !c.connect() {
		abort(c.client)
		return
	}
	var back sync.WaitGroup
	back.Go(func() { pump(c, c.server, c.client) })
	pump(c, c.client, c.server)
	back.Wait()
	_ = c.client.Close()
	_ = c.server.Close()
}

// lingerNot has a socket send RST when it is closed.
func lingerNot(_, _ string, raw syscall.RawConn) error {
	var failed error
	err := raw.Control(func(fd uintptr) {
		failed = syscall.SetsockoptLinger(int(fd), syscall.SOL_SOCKET, syscall.SO_LINGER, &syscall.Linger{Onoff: 1})
	})
	return cmp.Or(err, failed)
}

// connect reaches the target.
func (c *conn) connect() bool {
	// A reset may come when the target has taken the connection already and this side has not heard of it: then the dialer
	// closes the socket, and the target is to see a reset, too.
	d := net.Dialer{Control: lingerNot}
	s, err := d.DialContext(c.ctx, "tcp", c.wire.target)
	if err != nil {
		return false
	}
	server := s.(*net.TCPConn) // DialContext's for "tcp"
	if c.ctx.Err() == nil {
		_ = server.SetLinger(-1) // its only error is that it is closed
	}
	c.mu.Lock()
	c.server = server
	c.mu.Unlock()
	// What fell upon it meanwhile did not see the new socket.
	if c.muted.Load() {
		_ = c.server.SetWriteDeadline(time.Unix(1, 0))
	}
	if c.ctx.Err() != nil {
		abort(c.server)
		return false
	}
	return true
}
