package store

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// flights are the operations that are under way: one at a time for each key, which is a volume, or the name of one that
// is to be.
type flights struct {
	mu     sync.Mutex
	by     map[string]*flight
	closed bool
}

// flight is one operation.
type flight struct {
	what string        // operations that are the same have the same words
	done chan struct{} // closed when value and err are there
	// value and err are what it came to.
	value any
	err   error
}

// join begins an operation, or takes part in the one that is the same and under way, after those that are not the same
// have ended. f runs with a context of its own: it goes on when ctx ends, which the caller is told by an error that wraps
// volume.ErrPending and ctx's.
func join[T any](ctx context.Context, s *Store, key, what string, f func(context.Context) (T, error)) (T, error) {
	var none T
	for {
		fl, err := s.flights.begin(s, key, what, func(ctx context.Context) (any, error) { return f(ctx) })
		if err != nil {
			return none, err
		}
		select {
		case <-fl.done:
		case <-ctx.Done():
			return none, fmt.Errorf("%s: %s: %w: %w", what, fl.what, volume.ErrPending, context.Cause(ctx))
		}
		if fl.what == what {
			value, _ := fl.value.(T)
			return value, fl.err
		}
	}
}

// begin returns the operation under way, or a new one.
func (fs *flights) begin(s *Store, key, what string, f func(context.Context) (any, error)) (*flight, error) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fl := fs.by[key]; fl != nil {
		return fl, nil
	}
	switch {
	case fs.closed:
		return nil, fmt.Errorf("%s: %w: the driver is ending", what, volume.ErrUnavailable)
	case len(fs.by) >= s.opts.Operations:
		return nil, fmt.Errorf("%s: %w: %d operations are under way", what, volume.ErrUnavailable, len(fs.by))
	case fs.by == nil:
		fs.by = map[string]*flight{}
	}
	fl := &flight{what: what, done: make(chan struct{})}
	fs.by[key] = fl
	s.running.Go(func() {
		ctx, cancel := context.WithTimeout(s.ctx, s.opts.OperationLimit)
		defer cancel()
		fl.value, fl.err = survive(ctx, s, what, f)
		fs.mu.Lock()
		delete(fs.by, key)
		fs.mu.Unlock()
		close(fl.done)
	})
	return fl, nil
}

// survive makes a panic the failure of one operation: it runs on a goroutine of its own, where nobody else would catch it.
func survive(ctx context.Context, s *Store, what string, f func(context.Context) (any, error)) (value any, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.opts.Logger.Error("operation panicked", "operation", what, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			value, err = nil, fmt.Errorf("%s: a mistake of the driver, whose log has the stack: %v", what, p)
		}
	}()
	return f(ctx)
}

// close lets no more begin.
func (fs *flights) close() {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.closed = true
}
