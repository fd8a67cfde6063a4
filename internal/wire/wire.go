package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// state is whether anything gets through.
type state int

const (
	whole state = iota
	broken
	silent
)

// Wire is a way to one address. Make it with [Listen] or [New] and end it with [Wire.Close]; its methods may be called from
// any goroutine.
type Wire struct {
	target   string
	listener *net.TCPListener // nil: connections are joined only
	running  sync.WaitGroup
	closing  chan struct{}

	mu    sync.Mutex
	state state
	conns map[*conn]struct{}
}

// Listen returns a wire from a free port of the loopback interface to target, host:port. It connects to target when a
// client connects.
func Listen(target string) (*Wire, error) {
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, fmt.Errorf("wire to %s: %w", target, err)
	}
	w := &Wire{target: target, listener: l, closing: make(chan struct{}), conns: map[*conn]struct{}{}}
	w.running.Go(w.accept)
	return w, nil
}

// New returns a wire without an address, for connections that are joined.
func New() *Wire {
	return &Wire{closing: make(chan struct{}), conns: map[*conn]struct{}{}}
}

// Socket is a TCP or unix connection.
type Socket interface {
	net.Conn
	syscall.Conn
	CloseWrite() error
}

// ErrDown is the error of [Wire.Join] on a wire that is cut or closed.
var ErrDown = errors.New("the wire is down")

// Join forwards between two connections that exist already, as one connection of the wire, and closes both at its end. It
// returns at once. Its only error is [ErrDown]; then it has closed them.
func (w *Wire) Join(client, server Socket) error {
	c := newConn(w, client)
	c.server = server
	if !w.add(c) {
		return ErrDown
	}
	return nil
}

// Addr is the near end, host:port: what a client connects to.
func (w *Wire) Addr() string { return w.listener.Addr().String() }

// Cut interrupts the wire until [Wire.Restore]. If not quiet, connections are reset, present and new ones. If quiet, bytes
// are dropped in both directions, new connections get no answer, and neither end notices. A cut wire may be cut the other
// way.
func (w *Wire) Cut(quiet bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state = broken
	if quiet {
		w.state = silent
	}
	for c := range w.conns {
		if quiet {
			c.mute()
		} else {
			c.reset()
		}
	}
}

// Restore gives the way back. Connections that a silent cut fell upon have lost bytes and are reset, as TCP does it to
// those it has lost patience with. A wire that is not cut is left alone.
func (w *Wire) Restore() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state = whole
	for c := range w.conns {
		if c.muted.Load() {
			c.reset()
		}
	}
}

// IsCut reports whether the way is cut.
func (w *Wire) IsCut() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state != whole
}

// Close resets all connections and returns when nothing of the wire is left. It may be called again.
func (w *Wire) Close() error {
	w.mu.Lock()
	select {
	case <-w.closing:
	default:
		close(w.closing)
	}
	for c := range w.conns {
		c.reset()
	}
	w.mu.Unlock()
	var err error
	if w.listener != nil {
		err = w.listener.Close()
	}
	w.running.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// acceptPause is how long to wait when a connection cannot be taken, for want of file descriptors mostly.
const acceptPause = 20 * time.Millisecond

func (w *Wire) accept() {
	for {
		client, err := w.listener.AcceptTCP()
		switch {
		case err == nil:
			w.take(client)
		case errors.Is(err, net.ErrClosed):
			return
		default:
			select {
			case <-time.After(acceptPause):
			case <-w.closing:
				return
			}
		}
	}
}

// take makes a connection of what a client began, as the wire's state wants it.
func (w *Wire) take(client *net.TCPConn) { w.add(newConn(w, client)) }

// add runs a connection. It returns false when the wire is down for it, and has reset it.
func (w *Wire) add(c *conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.closing:
		c.reset()
		return false
	default:
	}
	switch {
	case w.state == broken, w.state == silent && c.server != nil:
		c.reset()
		return false
	case w.state == silent:
		c.mute()
	}
	w.conns[c] = struct{}{}
	w.running.Go(func() {
		c.run()
		w.mu.Lock()
		delete(w.conns, c)
		w.mu.Unlock()
	})
	return true
}

// conn is one connection over a wire.
type conn struct {
	wire   *Wire
	client Socket
	muted  atomic.Bool // bytes vanish; there is no way back from it
	ctx    context.Context
	cancel context.CancelFunc // it is reset

	mu     sync.Mutex
	server Socket // nil until connected
}

func newConn(w *Wire, client Socket) *conn {
	c := &conn{wire: w, client: client}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// mute lets bytes vanish, also those that wait for a peer that does not read.
func (c *conn) mute() {
	c.muted.Store(true)
	c.each(func(s Socket) { _ = s.SetWriteDeadline(time.Unix(1, 0)) })
}

// reset ends the connection in a way that both peers notice.
func (c *conn) reset() {
	c.cancel()
	c.each(abort)
}

// abort sends RST, which a unix socket does not have.
func abort(s Socket) {
	if tcp, ok := s.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = s.Close()
}

// each does f to the sockets that there are; errors are those of sockets that are closed already.
func (c *conn) each(f func(Socket)) {
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
	if c.muted.Load() { // it was silent when the connection began: there is no far end
		pump(c, c.client, nil)
		_ = c.client.Close()
		return
	}
	if c.server == nil && !c.connect() {
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
	// A cut in between did not see the new socket.
	if c.muted.Load() {
		_ = c.server.SetWriteDeadline(time.Unix(1, 0))
	}
	if c.ctx.Err() != nil {
		abort(c.server)
		return false
	}
	return true
}

// chunkSize is how much is moved at a time: two records of TLS.
const chunkSize = 32 << 10

// chunks are buffers: a connection holds one only while it has something to move, and most are idle.
var chunks = sync.Pool{New: func() any { return new([chunkSize]byte) }}

// pump moves bytes from one end to the other until one of them ends. At the end of from it closes to for writing and
// keeps the other direction; a broken connection is reset. Muted, it reads and forgets.
func pump(c *conn, from, to Socket) {
	for {
		chunk, n, err := read(from)
		muted := c.muted.Load()
		if n > 0 && !muted {
			_, werr := to.Write(chunk[:n])
			chunks.Put(chunk)
			err = errors.Join(err, werr)
			muted = c.muted.Load() // which makes writes fail
		} else if chunk != nil {
			chunks.Put(chunk)
		}
		switch {
		case err == nil || muted && n > 0:
		case muted: // the other end hears nothing of it
			return
		case err == io.EOF: //nolint:errorlint // read's own
			_ = to.CloseWrite()
			return
		default:
			c.reset()
			return
		}
	}
}

// read waits for bytes, and takes a buffer when they are there. The buffer belongs to the caller then.
func read(s Socket) (chunk *[chunkSize]byte, n int, err error) {
	raw, err := s.SyscallConn()
	if err != nil {
		return nil, 0, err
	}
	var rerr error
	err = raw.Read(func(fd uintptr) bool {
		chunk = chunks.Get().(*[chunkSize]byte)
		for {
			n, rerr = unix.Read(int(fd), chunk[:])
			if !errors.Is(rerr, unix.EINTR) {
				break
			}
		}
		if !errors.Is(rerr, unix.EAGAIN) {
			return true
		}
		chunks.Put(chunk)
		chunk = nil
		return false
	})
	if err == nil {
		err = rerr
	}
	if err != nil {
		return chunk, 0, err
	}
	if n == 0 {
		err = io.EOF
	}
	return chunk, n, err
}
