package gate

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Options of a [Gate].
type Options struct {
	// TLS holds the server certificate. Required. HTTP/1.1 is the only protocol offered: vCenter's SDK endpoint speaks
	// nothing else, and clients tune their connection pools for it.
	TLS *tls.Config
	// Logger receives what net/http has to say (failed handshakes, panics of the simulator) at debug level. Default:
	// discarded.
	Logger *slog.Logger
	// OnMode is told of every change of mode after it took effect, one at a time and in order. It must not call Set.
	OnMode func(from, to Mode)
	// OnCall is told of every call after its end, from the call's own goroutine. It must be quick.
	OnCall func(Call)
}

// Gate serves one vCenter. Make one with [New]; all methods may be called from any goroutine.
type Gate struct {
	next http.Handler
	opts Options
	addr string

	change sync.Mutex // serialises Set and Close
	closed bool
	srv    *http.Server // nil while down

	mu       sync.Mutex
	mode     Mode
	changed  chan struct{} // closed and replaced when mode changes
	inflight int           // calls in handle
	drained  chan struct{} // non-nil once somebody waits for inflight to be 0; closed then

	serving sync.WaitGroup // accept loops

	stats stats
}

// New starts to serve next on l, which it owns from now on, with mode Up. Close ends it.
func New(l net.Listener, next http.Handler, opts Options) *Gate {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	opts.TLS = opts.TLS.Clone()
	opts.TLS.NextProtos = []string{"http/1.1"}
	g := &Gate{
		next:    next,
		opts:    opts,
		addr:    l.Addr().String(),
		mode:    Mode{State: Up},
		changed: make(chan struct{}),
		stats:   newStats(),
	}
	g.serve(l)
	return g
}

// Addr is the host:port that the gate serves on; it never changes.
func (g *Gate) Addr() string { return g.addr }

// Mode returns the mode in force.
func (g *Gate) Mode() Mode {
	m, _ := g.current()
	return m
}

// current returns the mode and a channel that is closed when it is no longer in force.
func (g *Gate) current() (Mode, <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.mode, g.changed
}

// Set changes the mode and returns when it is in force: after Down no connection is left, after leaving Down the
// address is listened on again. It fails, and leaves the mode as it was, when the mode is malformed, the gate is closed
// or the address cannot be had back before ctx ends or two seconds pass.
func (g *Gate) Set(ctx context.Context, to Mode) error {
	to, err := to.normal()
	if err != nil {
		return err
	}
	g.change.Lock()
	defer g.change.Unlock()
	if g.closed {
		return fmt.Errorf("gate %s: %w", g.addr, net.ErrClosed)
	}
	from := g.Mode()
	if from == to {
		return nil
	}
	switch {
	case to.State == Down:
		// Calls learn of the new mode before they are cut, so that none that was held back is answered on the way out.
		g.switchTo(to)
		g.cut()
	case from.State == Down:
		l, err := relisten(ctx, g.addr)
		if err != nil {
			return err
		}
		g.switchTo(to)
		g.serve(l)
	default:
		g.switchTo(to)
	}
	if g.opts.OnMode != nil {
		g.opts.OnMode(from, to)
	}
	return nil
}

func (g *Gate) switchTo(m Mode) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mode = m
	close(g.changed)
	g.changed = make(chan struct{})
}

// Cut closes the gate for good: the listener, every connection, every call that it holds back. Calls that are inside
// the simulator go on there; [Gate.Close] waits for them. Owners whose simulator has long polls of its own to cancel do
// that in between. Cutting twice is harmless.
func (g *Gate) Cut() {
	g.change.Lock()
	defer g.change.Unlock()
	if g.closed {
		return
	}
	g.closed = true
	g.switchTo(Mode{State: Down})
	g.cut()
}

// Close cuts the gate and waits for the calls that are inside the simulator. It ends with ctx's error, saying how
// things stand, when some do not return in time.
func (g *Gate) Close(ctx context.Context) error {
	g.Cut()
	g.mu.Lock()
	if g.drained == nil {
		g.drained = make(chan struct{})
		if g.inflight == 0 {
			close(g.drained)
		}
	}
	drained := g.drained
	g.mu.Unlock()
	select {
	case <-drained:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("gate %s: calls still inside the simulator: %w", g.addr, ctx.Err())
	}
}

// enter counts a call in; it is refused when the gate is draining (net/http may still start a handler for a request
// that it had read when its connection was cut).
func (g *Gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.drained != nil {
		return false
	}
	g.inflight++
	return true
}

func (g *Gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inflight--; g.inflight == 0 && g.drained != nil {
		close(g.drained)
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
	}
	srv := g.srv
	g.serving.Go(func() {
		if err := srv.Serve(tls.NewListener(l, g.opts.TLS)); !errors.Is(err, http.ErrServerClosed) {
			g.opts.Logger.Error("gate stopped serving", "addr", g.addr, "error", err)
		}
	})
}

// cut closes listener and connections and waits for the accept loop; g.change is held.
func (g *Gate) cut() {
	if g.srv == nil {
		return
	}
	_ = g.srv.Close() // the listener's close error; it is closed either way
	g.serving.Wait()
	g.srv = nil
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
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("gate %s: cannot listen again: %w", addr, err)
		case <-time.After(50 * time.Millisecond):
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
