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

// Options of a [Gate].
type Options struct {
	// TLS holds the server certificate. Required. HTTP/1.1 is the only protocol offered: vCenter's SDK endpoint speaks
	// nothing else, and clients tune their connection pools for it.
	TLS *tls.Config
	// Logger receives panics of the simulator as errors, and what net/http has to say (failed handshakes) at debug level.
	// Default: discarded.
	Logger *slog.Logger
	// Recent is how many of the last calls [Gate.Recent] tells of. Zero stands for 256, less for none.
	Recent int

	// OnMode is told of every change of mode after it took effect, one at a time and in order. It must not call Set.
	OnMode func(from, to Mode)
	// OnCall is told of every call after its end, from the call's own goroutine. It must be quick.
	OnCall func(Call)

	// What only the simulator knows. Each may be nil; a rule that needs it is then refused. They are called from the
	// goroutines of calls, many at a time.

	// Identify returns the key of the session that a request belongs to and the name of its user, "" for none. It is
	// asked for every call, before the simulator sees it, and must be quick.
	Identify func(*http.Request) (session, user string)
	// Name returns the name of an object in the inventory, "" when there is no such object. It must not block.
	Name func(types.ManagedObjectReference) string
	// FailTask makes a Task of that method on that object that runs for a time and ends in the fault.
	// Without a message in it, the fault's own words are to be told.
	FailTask func(method string, this types.ManagedObjectReference, after time.Duration, fault types.LocalizedMethodFault) (types.ManagedObjectReference, error)
	// DropSession ends a session, for SOAP and REST.
	DropSession func(session string)
}

// Gate serves one vCenter. Make one with [New]; all methods may be called from any goroutine.
type Gate struct {
	next http.Handler
	opts Options
	addr string

	certificate certificate
	connections connections
	stats       stats
	recent      ring

	table atomic.Pointer[table] // the rules in force

	change   sync.Mutex // serializes all that follows and what is made of it
	closed   bool
	modeRule *entry // what the mode does; nil when Up
	rules    []*entry
	lastID   ID
	srv      *http.Server // nil while not listening
	listener net.Listener // listens already, but is not served yet
	reserved *os.File     // keeps the address while nobody listens on it; nil while somebody does

	mu       sync.Mutex
	mode     Mode
	inflight int           // calls in handle
	drained  chan struct{} // non-nil once somebody waits for inflight to be 0; closed then

	serving sync.WaitGroup // accept loops
	holes   sync.WaitGroup // connections in black holes
	windows sync.WaitGroup // goroutines that open and close windows
	life    context.Context
	end     context.CancelFunc
}

// New starts to serve next on l, which it owns from now on, with mode Up and no rules. Close ends it.
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

// Addr is the host:port that the gate serves on; it never changes.
func (g *Gate) Addr() string { return g.addr }

// Cut closes the gate for good: the listener, every connection, every call that it holds back. Calls that are inside
// the simulator continue there; [Gate.Close] waits for them. Owners whose simulator has long polls of its own to cancel do
// that in between. Cutting twice is harmless.
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

// Close cuts the gate and waits for the calls that are inside the simulator. It ends with ctx's error, saying how
// things stand, when some do not return in time.
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

// State is what a gate does with calls.
type State string

const (
	// Up answers.
	Up State = "up"
	// Down refuses connections and has cut those that were open.
	Down State = "down"
	// Slow answers each call after [Mode].Delay.
	Slow State = "slow"
	// Hung accepts connections, completes TLS and reads requests, but no answer comes until the mode changes. Calls
	// that were waiting then, long polls among them, are answered when it is Up again.
	Hung State = "hung"
)

// Mode is a state with its parameter. The zero value means [Up].
type Mode struct {
	State State `json:"state"`
	// Delay is added to each call when Slow; it must be positive then and zero otherwise.
	Delay time.Duration `json:"delay,omitempty"`
}

// String returns "up", "down", "hung" or "slow (200ms)".
func (m Mode) String() string {
	if m.State == Slow {
		return fmt.Sprintf("%s (%s)", m.State, m.Delay)
	}
	return string(m.State)
}

// normal fills in the zero value and checks the rest.
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
	fault, err := a.Fault.build() // a fresh one: the Task keeps it
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

// namespace is that of the SOAP method: as said, or as its name has it.
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
