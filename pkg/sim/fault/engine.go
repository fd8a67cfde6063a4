package fault

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

// Options configures an [Engine]. Ground and Kinds are mandatory.
type Options struct {
	Ground *Ground
	Kinds  []*Kind
	// Journal, if not nil, gets a line before and after each change; [ReadJournal] reads from it what a killed process left
	// broken.
	Journal io.Writer
	// Sealer encrypts the target states in the journal, which may hold passwords. It is mandatory with a Journal and for Adopt:
	// without it Inject refuses.
	Sealer Sealer
	// Logger gets messages that are not events. Nil: none.
	Logger *slog.Logger
	// OnChange, if not nil, is called with each lease after each change, in order. It must neither block nor call the engine.
	OnChange func(Lease)
	// Parallel limits the targets of a lease that change at the same time; 0: 16.
	Parallel int
	// Timeout bounds each step on each target; 0: two minutes.
	Timeout time.Duration
	// Retry is the delay before a failed healing is retried. It doubles with each further failure, up to half a minute; 0: one
	// second.
	Retry time.Duration
}

// Engine injects faults and heals them. Create one with [NewEngine]; its methods are safe for concurrent use.
type Engine struct {
	opts    Options
	ground  *Ground
	kinds   []*Kind
	journal journal
	turns   turns

	ctx     context.Context // done when the engine is closed
	cancel  context.CancelFunc
	stopped context.Context // done when closing begins
	stop    context.CancelFunc
	tasks   sync.WaitGroup // goroutines of the engine: runs, expiry, retries

	mu     sync.Mutex
	last   int      // number of the newest lease
	leases []*lease // in order
	closed bool
}

// keep is the number of healed leases that are remembered.
const keep = 1000

// maxRetry limits the delay between two attempts to heal.
const maxRetry = 30 * time.Second

// NewEngine returns an engine without leases. Call Close to end it.
func NewEngine(opts Options) *Engine {
	if opts.Parallel <= 0 {
		opts.Parallel = 16
	}
	if opts.Timeout <= 0 {
		opts.Timeout = 2 * time.Minute
	}
	if opts.Retry <= 0 {
		opts.Retry = time.Second
	}
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	if opts.Ground.Events == nil {
		opts.Ground.Events = event.NewLog(0)
	}
	e := &Engine{opts: opts, ground: opts.Ground, kinds: slices.Clone(opts.Kinds), journal: journal{w: opts.Journal, sealer: opts.Sealer}}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.stopped, e.stop = context.WithCancel(context.Background())
	return e
}

// Kinds returns the kinds that the engine can inject.
func (e *Engine) Kinds() []*Kind { return slices.Clone(e.kinds) }

// Leases returns the leases, oldest first: active ones, those that failed to heal, and the last thousand healed ones.
func (e *Engine) Leases() []Lease {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := make([]Lease, len(e.leases))
	for i, l := range e.leases {
		list[i] = l.copy()
	}
	return list
}

// Lease returns the lease with that ID, and false if there is no such lease.
func (e *Engine) Lease(id string) (Lease, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, l := range e.leases {
		if l.ID == id {
			return l.copy(), true
		}
	}
	return Lease{}, false
}

// Close heals all leases, newest first, and ends the engine: it injects nothing more and leaves no goroutine. It returns the
// errors of what could not be healed before ctx ended. Closing again is harmless.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.stop() // abort and revert what is being applied
	_, err := e.HealAll(ctx)
	e.mu.Lock()
	for _, l := range e.leases {
		l.disarm()
	}
	e.mu.Unlock()
	e.cancel()
	e.tasks.Wait()
	return err
}

// spawn runs f in a goroutine of the engine, unless the engine is closed.
func (e *Engine) spawn(f func(context.Context)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.closed {
		e.tasks.Go(func() { f(e.ctx) })
	}
}

// changed reports the lease to OnChange. The caller holds the lock.
func (e *Engine) changed(l *lease) {
	if e.opts.OnChange != nil {
		e.opts.OnChange(l.copy())
	}
}

// set changes a lease with f and reports the change.
func (e *Engine) set(l *lease, f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f()
	e.changed(l)
}

func (e *Engine) find(id string) (*lease, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var ids []string
	for _, l := range e.leases {
		if l.ID == id {
			return l, nil
		}
		if l.State != Healed {
			ids = append(ids, l.ID)
		}
	}
	message := fmt.Sprintf("lease %q not found", id)
	if n, ok := strings.CutPrefix(id, "f"); ok {
		if number, err := strconv.Atoi(n); err == nil && number > 0 && number <= e.last {
			message = fmt.Sprintf("lease %q: healed so long ago that it is forgotten", id)
		}
	}
	if len(ids) > 0 {
		message += "; there is " + strings.Join(ids, ", ")
	}
	return nil, &Refusal{Code: "not-found", Message: message, Try: "vsphere-sandbox fault leases"}
}

// forget drops the oldest healed leases beyond keep. The caller holds the lock.
func (e *Engine) forget() {
	healed := 0
	for _, l := range e.leases {
		if l.State == Healed {
			healed++
		}
	}
	e.leases = slices.DeleteFunc(e.leases, func(l *lease) bool {
		if l.State != Healed || healed <= keep {
			return false
		}
		healed--
		return true
	})
}

// Find returns the kind with that name; its error suggests a similar name.
func Find(kinds []*Kind, name string) (*Kind, error) {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		if k.Name == name {
			return k, nil
		}
		names[i] = k.Name
	}
	message := fmt.Sprintf("fault %q not found", name)
	if near := nearest.Of(name, names); near != "" {
		message += fmt.Sprintf("; did you mean %q?", near)
	}
	return nil, &Refusal{Code: "not-found", Message: message, Try: "vsphere-sandbox fault list"}
}

// State is the state of a lease.
type State string

// The states. A lease that failed to heal stays Failed until it is healed.
const (
	Applying State = "applying"
	Active   State = "active"
	Healing  State = "healing"
	Healed   State = "healed"
	Failed   State = "failed"
)

// Lease is an injected fault, as a value.
type Lease struct {
	// ID is short and unique for the life of a sandbox: f1, f2.
	ID      string
	Kind    string
	State   State
	Targets []Leased
	Params  Values
	Mode    string
	Seed    uint64
	Since   time.Time
	// Until is when it heals automatically; zero: never.
	Until time.Time
	// Ended is when it was healed.
	Ended time.Time
	// Seq is the event of the injection.
	Seq uint64
	// Note is a remark for the user: "was healed already".
	Note string
}

// Leased is one target of a lease.
type Leased struct {
	Target Item
	// Effect describes the change.
	Effect string
	State  State
	// Error is the reason why it was not applied or not healed.
	Error string
}

// number returns the number in the ID.
func (l Lease) number() int {
	n, _ := strconv.Atoi(strings.TrimPrefix(l.ID, "f"))
	return n
}

// lease is a [Lease] with what the engine needs to end it. The engine's lock guards the Lease; the rest belongs to the holder of
// busy.
type lease struct {
	Lease
	kind *Kind
	// busy is a lock, taken by sending, while the lease is applied or healed.
	busy    chan struct{}
	states  []json.RawMessage // of the targets, to revert them
	begun   []bool            // whether Apply was called
	trouble string            // the last reported error of healing it

	stop    context.CancelFunc // ends the runs
	running sync.WaitGroup

	timer   *time.Timer // ends it, or retries
	retries int
	healing uint64 // the event of the first attempt to heal it
}

// copy returns the lease as a value.
func (l *lease) copy() Lease {
	c := l.Lease
	c.Targets = slices.Clone(c.Targets)
	c.Params = maps.Clone(c.Params)
	return c
}

// take waits until the lease is free and takes it; release returns it.
func (l *lease) take(ctx context.Context) error {
	select {
	case l.busy <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *lease) release() { <-l.busy }

// disarm stops the timer. The caller holds the engine's lock.
func (l *lease) disarm() {
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
}

// call returns the call of a step on target n; seq is its cause.
func (e *Engine) call(l *lease, n int, seq uint64) *Call {
	target := l.Targets[n].Target
	return &Call{
		Ground: e.ground, Target: target, Params: l.Params, Lease: l.ID,
		Rand: rand.New(rand.NewPCG(l.Seed, target.hash())), Seq: seq,
		turns: &e.turns,
	}
}

// key identifies a target.
func (i Item) key() string {
	id := i.Ref.Value + i.ID
	id = cmp.Or(id, i.Region+"\x00"+i.Name)
	return string(i.Kind) + "\x00" + i.VCenter + "\x00" + id
}

// hash returns a hash of the target's name, which is stable between runs of a topology, unlike its reference.
func (i Item) hash() uint64 {
	h := fnv.New64a()
	for _, s := range []string{string(i.Kind), i.VCenter, i.Path, i.Region, i.Name} {
		_, _ = h.Write([]byte(s))
		_, _ = h.Write([]byte{0})
	}
	return h.Sum64()
}

// each calls f for each target, a few at a time, and returns the errors by target. If untilError is set, it starts no further
// target after an error.
func (e *Engine) each(targets int, untilError bool, f func(n int) error) []error {
	errs := make([]error, targets)
	if targets == 1 {
		errs[0] = f(0)
		return errs
	}
	var mu sync.Mutex
	next, failed := 0, false
	var wg sync.WaitGroup
	for range min(e.opts.Parallel, targets) {
		wg.Go(func() {
			for {
				mu.Lock()
				n := next
				if n >= targets || failed && untilError {
					mu.Unlock()
					return
				}
				next++
				mu.Unlock()
				if errs[n] = f(n); errs[n] != nil {
					mu.Lock()
					failed = true
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return errs
}

// note appends an event about the lease: "f3: vm.power-off on us/worker-1 for 30s".
func (e *Engine) note(l *lease, cause uint64, level event.Level, kind, more string) uint64 {
	about := event.Object{Kind: "Lease", Name: l.ID}
	if len(l.Targets) == 1 {
		about = l.Targets[0].Target.Event()
	}
	message := fmt.Sprintf("%s: %s on %s%s", l.ID, l.Kind, l.targets(), more)
	if strings.HasPrefix(more, l.ID+": ") {
		message = more
	}
	return e.ground.Events.Append(event.Event{Plane: event.PlaneSandbox, Level: level, Kind: kind, Object: about, Cause: cause, Message: message})
}

// targets lists the names of the targets if they are few.
func (l *lease) targets() string {
	const many = 5
	var names []string
	for i := range l.Targets {
		if i == many && len(l.Targets) > many+1 {
			names = append(names, fmt.Sprintf("%d more", len(l.Targets)-many))
			break
		}
		names = append(names, l.Targets[i].Target.String())
	}
	return strings.Join(names, ", ")
}

// noun is the name of the kind in errors.
func (o Object) noun() string {
	switch o {
	case VM:
		return "VM"
	case VCenter:
		return "vCenter"
	case Cluster:
		return "compute cluster"
	case NSX:
		return "NSX Manager"
	}
	return strings.ToLower(string(o))
}

// plural is its plural.
func (o Object) plural() string {
	if strings.HasSuffix(o.noun(), "s") {
		return o.noun()
	}
	return o.noun() + "s"
}

// lister is the command that lists such objects; empty if there is no such command.
func (o Object) lister() string {
	switch o {
	case VM, Host, Datacenter, Datastore, Volume, Zone, VCenter, Node:
		return "vsphere-sandbox get " + strings.ToLower(string(o)) + "s"
	case Component:
		return "vsphere-sandbox status"
	case NSX:
		return "vsphere-sandbox get nsx"
	}
	return ""
}
