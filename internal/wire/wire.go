package wire

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// state is whether anything gets through.
type state int

const (
	whole state = iota
	broken
	silent
)

// Wire is a way to one address. Make it with [Listen] and end it with [Wire.Close]; its methods may be called from any
// goroutine.
type Wire struct {
	target   string
	listener *net.TCPListener
	running  sync.WaitGroup
	closing  chan struct{}

	mu    sync.Mutex
	state state
	conns map[*conn]struct{}
}

// Listen returns a wire from a port of the loopback interface that the kernel chooses to target, host:port. Nothing is
// connected to target before somebody connects to the wire.
func Listen(target string) (*Wire, error) {
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, fmt.Errorf("wire to %s: %w", target, err)
	}
	w := &Wire{target: target, listener: l, closing: make(chan struct{}), conns: map[*conn]struct{}{}}
	w.running.Go(w.accept)
	return w, nil
}

// Addr is the near end, host:port: what a client connects to.
func (w *Wire) Addr() string { return w.listener.Addr().String() }

// Cut takes the way away, until [Wire.Mend]. Not silent: what is connected is reset, and so is whatever connects. Silent:
// bytes vanish in both directions as if packets were dropped, whoever connects gets no answer, and neither end is told.
// A wire that is cut may be cut the other way.
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

// Mend gives the way back. Connections that a silent cut fell upon have lost bytes and are reset, as TCP does it to
// those it has lost patience with. A wire that is not cut is left alone.
func (w *Wire) Mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state = whole
	for c := range w.conns {
		if c.muted.Load() {
			c.reset()
		}
	}
}

// IsCut tells whether the way is cut.
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
	err := w.listener.Close()
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
func (w *Wire) take(client *net.TCPConn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := newConn(w, client)
	select {
	case <-w.closing:
		c.reset()
		return
	default:
	}
	switch w.state {
	case broken:
		c.reset()
		return
	case silent:
		c.mute()
	}
	w.conns[c] = struct{}{}
	w.running.Go(func() {
		c.run()
		w.mu.Lock()
		delete(w.conns, c)
		w.mu.Unlock()
	})
}
