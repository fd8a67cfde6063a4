package fault

import (
	"context"
	"fmt"
	"io"
	"log/slog"
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
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
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
	message := fmt.Sprintf("lease %q does not exist", id)
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
