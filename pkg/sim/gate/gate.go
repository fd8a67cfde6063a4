package gate

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"
)

// Options configures a [Gate].
type Options struct {
	// TLS holds the server certificate. Required. HTTP/1.1 is the only protocol offered, as by vCenter's SDK endpoint; clients
	// tune their connection pools for it.
	TLS *tls.Config
	// Logger receives panics of the simulator as errors, and messages of net/http (failed handshakes) at debug level. Default:
	// discarded.
	Logger *slog.Logger
	// Recent is the number of calls that [Gate.Recent] returns. Zero means 256, a negative number none.
	Recent int

	// OnMode is called with every change of mode after it took effect, sequentially and in order. It must not call Set.
	OnMode func(from, to Mode)
	// OnCall is called with every call after its end, from the call's goroutine. It must be quick.
	OnCall func(Call)

	// Hooks into the simulator. Each may be nil; rules that need it are then refused. They are called concurrently, from the
	// goroutines of calls.

	// Identify returns the key of a request's session and the name of its user, "" for none. It is called for every call, before
	// the simulator, and must be quick.
	Identify func(*http.Request) (session, user string)
	// Name returns the name of an object in the inventory, "" if it does not exist. It must not block.
	Name func(types.ManagedObjectReference) string
	// FailTask creates a Task of that method on that object that runs for a time and ends with the fault. Without a message,
	// clients get the fault's own.
	FailTask func(method string, this types.ManagedObjectReference, after time.Duration, fault types.LocalizedMethodFault) (types.ManagedObjectReference, error)
	// DropSession ends a session, for SOAP and REST.
	DropSession func(session string)
}

// Gate serves one vCenter. Create one with [New]; its methods are safe for concurrent use.
type Gate struct {
	next http.Handler
	opts Options
	addr string

	certificate certificate
	connections connections
	stats       stats
	recent      ring

	table atomic.Pointer[table] // the rules in force

	change   sync.Mutex // guards all that follows
	closed   bool
	modeRule *entry // the action of the mode; nil when Up
	rules    []*entry
	lastID   ID
	srv      *http.Server // nil while not listening
	listener net.Listener // bound, but not served yet
	reserved *os.File     // reserves the address while the gate does not listen; nil while it does

	mu       sync.Mutex
	mode     Mode
	inflight int           // calls in handle
	drained  chan struct{} // non-nil while Close waits for inflight to reach 0; closed then

	serving    sync.WaitGroup // accept loops
	blackHoles sync.WaitGroup // connections in black holes
	windows    sync.WaitGroup // goroutines that open and close windows
	life       context.Context
	end        context.CancelFunc
}

// New serves next on l, which it takes over, with mode Up and without rules. Call Close to end it.
func New(l net.Listener, next http.Handler, opts Options) *Gate {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Recent == 0 {
		opts.Recent = 256
	}
	g := &Gate{
		next:   next,
		opts:   opts,
		addr:   l.Addr().String(),
		mode:   Mode{State: Up},
		stats:  newStats(),
		recent: newRing(opts.Recent),
	}
	g.life, g.end = context.WithCancel(context.Background()) // until Cut
	g.opts.TLS = g.certificate.use(opts.TLS.Clone())
	g.table.Store(&table{})
	g.serve(l)
	return g
}

// Addr returns the host:port that the gate serves; it never changes.
func (g *Gate) Addr() string { return g.addr }

// Cut closes the gate permanently: the listener, every connection, every held call. Calls inside the simulator continue;
// [Gate.Close] waits for them. If the simulator has long polls to cancel, do so in between. Repeated calls are harmless.
func (g *Gate) Cut() {
	g.change.Lock()
	defer g.change.Unlock()
	if g.closed {
		return
	}
	g.closed = true
	old := append(g.rules, g.modeRule)
	g.setMode(Mode{State: Down})
	g.modeRule, g.rules = g.newEntry(Rule{Name: "mode down", Action: Outage{}}), nil
	g.enforce()
	release(old...)
	g.settle()
	g.giveBack()
	g.end()
}

// Close cuts the gate and waits for the calls inside the simulator. If ctx ends first, it returns ctx's error with the number of
// remaining calls.
func (g *Gate) Close(ctx context.Context) error {
	g.Cut()
	g.windows.Wait()
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

// enter counts a call, or refuses it while the gate is draining: net/http may start a handler for a request that it read before
// its connection was cut.
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

// State is how a gate treats calls.
type State string

const (
	// Up serves calls.
	Up State = "up"
	// Down refuses connections; open ones were cut.
	Down State = "down"
	// Slow answers each call after [Mode].Delay.
	Slow State = "slow"
	// Hung accepts connections, completes TLS and reads requests, but answers nothing until the mode changes. Waiting calls,
	// including long polls, are answered when it is Up again.
	Hung State = "hung"
)

// Mode is a state with its parameter. The zero value is [Up].
type Mode struct {
	State State `json:"state"`
	// Delay is added to each call when Slow; it must be positive then, and zero otherwise.
	Delay time.Duration `json:"delay,omitempty"`
}

// String returns "up", "down", "hung" or "slow (200ms)".
func (m Mode) String() string {
	if m.State == Slow {
		return fmt.Sprintf("%s (%s)", m.State, m.Delay)
	}
	return string(m.State)
}

// normal fills in defaults and validates the rest.
func (m Mode) normal() (Mode, error) {
	switch m.State {
	case "":
		m.State = Up
	case Up, Down, Hung, Slow:
	default:
		return m, fmt.Errorf("gate state %q: want up, down, slow or hung", m.State)
	}
	if (m.State == Slow) != (m.Delay > 0) || m.Delay < 0 {
		return m, fmt.Errorf("gate state %s with delay %s: slow and only slow takes a positive delay", m.State, m.Delay)
	}
	return m, nil
}

// failTask answers with a Task that ends in a fault.
func (c *call) failTask(a FailTask) {
	fault, err := a.Fault.build() // a new one: the Task keeps it
	if err == nil {
		ref, makeErr := c.gate.opts.FailTask(c.Method, c.Object, a.After, types.LocalizedMethodFault{
			Fault: fault, LocalizedMessage: a.Fault.Message,
		})
		if err = makeErr; err == nil {
			var b bytes.Buffer
			fmt.Fprintf(&b, `%s<%sResponse xmlns="%s"><returnval type="Task">`, envelopeStart, c.Method, c.namespace())
			_ = xml.EscapeText(&b, []byte(ref.Value)) // a buffer never fails
			fmt.Fprintf(&b, `</returnval></%sResponse>%s`, c.Method, envelopeEnd)
			c.writeSOAP(http.StatusOK, b.Bytes())
			return
		}
	}
	c.gate.opts.Logger.Error("no task to fail", "method", c.Method, "error", err)
	c.internalError("no task to fail: " + err.Error())
}

// namespace returns the namespace of the SOAP method: as sent, or derived from its name.
func (c *call) namespace() string {
	switch {
	case c.space != "" && !strings.ContainsAny(c.space, `"<&`):
		return c.space
	case strings.HasPrefix(c.Method, "Cns"):
		return "urn:vsan"
	case strings.HasPrefix(c.Method, "Pbm"):
		return "urn:pbm"
	case strings.HasPrefix(c.Method, "Vslm"):
		return "urn:vslm"
	default:
		return "urn:vim25"
	}
}
