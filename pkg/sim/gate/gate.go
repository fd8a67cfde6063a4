package gate

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
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
	// Plain serves HTTP in place of HTTPS, without TLS.
	Plain bool
	// Logger receives panics of the simulator as errors, and messages of net/http (failed handshakes) at debug level. Default:
	// discarded.
	Logger *slog.Logger
	// Recent is the number of calls that [Gate.Recent] returns. Zero means 256, a negative number none.
	Recent int

	// NSX: what the gate answers in place of the simulator has the form of NSX's Policy API.
	NSX bool
	// Kubernetes: the same, in the form of a Kubernetes API server. Calls are named by verb and resource: GET virtualmachines.
	Kubernetes bool

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

	table atomic.Pointer[table]  // the rules in force
	taps  atomic.Pointer[[]*tap] // nil without one

	change   sync.Mutex // guards all that follows
	closed   bool
	modeRule *entry // the action of the mode; nil when Up
	rules    []*entry
	lastID   ID
	srv      *http.Server // nil while not listening
	listener net.Listener // bound, but not served yet
	served   net.Listener // nil while not listening
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
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	opts.Recent = cmp.Or(opts.Recent, 256)
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

// Duplicate returns another listener of the gate's socket, for a gate that takes this one's place: no other process gets the address
// in between, and a connection made then waits. The caller closes it. It fails while the gate does not listen.
func (g *Gate) Duplicate() (*net.TCPListener, error) {
	g.change.Lock()
	defer g.change.Unlock()
	l, ok := g.served.(*net.TCPListener)
	if !ok {
		return nil, fmt.Errorf("gate %s: it does not listen at a TCP address", g.addr)
	}
	f, err := l.File()
	if err != nil {
		return nil, fmt.Errorf("gate %s: %w", g.addr, err)
	}
	defer f.Close()
	again, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("gate %s: %w", g.addr, err)
	}
	return again.(*net.TCPListener), nil
}

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

// Stat counts the calls of one method by one client since the start of the gate.
type Stat struct {
	Method string `json:"method"`
	Client string `json:"client"`
	Calls  int64  `json:"calls"`
	// Errors are calls that ended with a SOAP fault, an error status or no answer.
	Errors int64 `json:"errors"`
	// Hits are calls that a rule or a mode hit.
	Hits int64 `json:"hits"`
	// Latency is the sum over all calls, including long polls.
	Latency time.Duration `json:"latency"`
	// In and Out are the bytes of all bodies.
	In  int64 `json:"in"`
	Out int64 `json:"out"`
	// Last is the end of the newest call, LastError the answer to the newest failed one: the type of its fault or error, "HTTP
	// 503" without a type, "no answer" if it was cut.
	Last      time.Time `json:"last,omitzero"`
	LastError string    `json:"lastError,omitempty"`

	at int64 // the number of the newest call
}

// Counters are the totals of a gate since its start, and its current load.
type Counters struct {
	Calls  int64 `json:"calls"`
	Errors int64 `json:"errors"`
	Hits   int64 `json:"hits"`
	In     int64 `json:"in"`
	Out    int64 `json:"out"`
	// InFlight is the number of calls in progress.
	InFlight int `json:"inFlight"`
	// Connections is the number of open connections, including idle ones.
	Connections int `json:"connections"`
}

// maxStats limits the number of (method, client) pairs, for clients that invent names.
const maxStats = 4096

// Other collects the methods and clients beyond that limit.
const Other = "(other)"

type statKey struct{ method, client string }

type stats struct {
	mu    sync.Mutex
	by    map[statKey]*Stat
	all   Stat
	grown chan struct{} // closed at the next call; nil while no caller waits
}

func newStats() stats { return stats{by: make(map[statKey]*Stat)} }

func (s *stats) add(c Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := statKey{c.Method, c.Client}
	st := s.by[key]
	if st == nil {
		if len(s.by) >= maxStats {
			key = statKey{Other, Other}
		}
		if st = s.by[key]; st == nil {
			st = &Stat{Method: key.method, Client: key.client}
			s.by[key] = st
		}
	}
	s.all.count(c)
	st.count(c)
	st.at = s.all.Calls
	if s.grown != nil {
		close(s.grown)
		s.grown = nil
	}
}

func (st *Stat) count(c Call) {
	st.Calls++
	st.Latency += c.Duration
	st.In += c.In
	st.Out += c.Out
	if c.Failed() {
		st.Errors++
		st.LastError = c.Failure()
	}
	if c.Hit {
		st.Hits++
	}
	if end := c.Start.Add(c.Duration); end.After(st.Last) {
		st.Last = end
	}
}

// Stats returns the counts so far, sorted by method, then client, without calls in progress.
func (g *Gate) Stats() []Stat {
	g.stats.mu.Lock()
	defer g.stats.mu.Unlock()
	return g.stats.since(0)
}

// WaitStats waits until more than after calls have ended since the start of the gate. It returns the counts of their methods and
// clients, sorted like [Gate.Stats], and the total number of calls, to pass as after next time. It returns ctx's error when ctx
// ends.
func (g *Gate) WaitStats(ctx context.Context, after int64) ([]Stat, int64, error) {
	s := &g.stats
	for {
		s.mu.Lock()
		if n := s.all.Calls; n > after {
			changed := s.since(after)
			s.mu.Unlock()
			return changed, n, nil
		}
		if s.grown == nil {
			s.grown = make(chan struct{})
		}
		grown := s.grown
		s.mu.Unlock()
		select {
		case <-grown:
		case <-ctx.Done():
			return nil, after, ctx.Err()
		}
	}
}

// since returns the counts that changed after that number of calls. The caller holds the lock.
func (s *stats) since(after int64) []Stat {
	list := make([]Stat, 0, len(s.by))
	for _, st := range s.by {
		if st.at > after {
			list = append(list, *st)
		}
	}
	slices.SortFunc(list, func(a, b Stat) int {
		return cmp.Or(cmp.Compare(a.Method, b.Method), cmp.Compare(a.Client, b.Client))
	})
	return list
}

// Counters returns the totals.
func (g *Gate) Counters() Counters {
	g.mu.Lock()
	inflight := g.inflight
	g.mu.Unlock()
	g.stats.mu.Lock()
	all := g.stats.all
	g.stats.mu.Unlock()
	return Counters{
		Calls: all.Calls, Errors: all.Errors, Hits: all.Hits, In: all.In, Out: all.Out,
		InFlight: inflight, Connections: g.connections.count(),
	}
}

// ring holds the last calls.
type ring struct {
	mu    sync.Mutex
	calls []Call
	total int
}

func newRing(size int) ring { return ring{calls: make([]Call, 0, max(0, size))} }

func (r *ring) add(c Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case cap(r.calls) == 0:
	case len(r.calls) < cap(r.calls):
		r.calls = append(r.calls, c)
	default:
		r.calls[r.total%len(r.calls)] = c
	}
	r.total++
}

// Recent returns the last calls, in the order of their ends, without calls in progress.
func (g *Gate) Recent() []Call {
	r := &g.recent
	r.mu.Lock()
	oldest := 0
	if len(r.calls) > 0 && len(r.calls) == cap(r.calls) {
		oldest = r.total % len(r.calls)
	}
	list := append(append([]Call(nil), r.calls[oldest:]...), r.calls[:oldest]...)
	r.mu.Unlock()
	if g.opts.Name != nil {
		for i, c := range list {
			if c.Object != (types.ManagedObjectReference{}) {
				list[i].Name = g.opts.Name(c.Object)
			}
		}
	}
	return list
}
