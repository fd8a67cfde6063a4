package store

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// flights are the operations in progress: one at a time for each key, which is a volume id, or the name of a future volume.
type flights struct {
	mu     sync.Mutex
	by     map[string]*flight
	closed bool
}

type flight struct {
	what string        // identical operations have the same text
	done chan struct{} // closed when value and err are set
	// value and err are the outcome.
	value any
	err   error
}

// join starts an operation, or joins the identical one in progress, after different ones with the same key have ended. f runs
// with its own context, so that it continues when ctx ends; then join returns an error that wraps volume.ErrPending and ctx's.
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

// begin returns the operation in progress, or a new one.
func (fs *flights) begin(s *Store, key, what string, f func(context.Context) (any, error)) (*flight, error) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fl := fs.by[key]; fl != nil {
		return fl, nil
	}
	switch {
	case fs.closed:
		return nil, fmt.Errorf("%s: %w: the driver is shutting down", what, volume.ErrUnavailable)
	case len(fs.by) >= s.opts.Operations:
		return nil, fmt.Errorf("%s: %w: %d operations are in progress", what, volume.ErrUnavailable, len(fs.by))
	case fs.by == nil:
		fs.by = map[string]*flight{}
	}
	fl := &flight{what: what, done: make(chan struct{})}
	fs.by[key] = fl
	s.running.Go(func() {
		ctx, cancel := context.WithTimeout(s.ctx, s.opts.OperationLimit)
		defer cancel()
		fl.value, fl.err = recoverPanic(ctx, s, what, f)
		fs.mu.Lock()
		delete(fs.by, key)
		fs.mu.Unlock()
		close(fl.done)
	})
	return fl, nil
}

// recoverPanic converts a panic to the failure of one operation; otherwise it would end the process.
func recoverPanic(ctx context.Context, s *Store, what string, f func(context.Context) (any, error)) (value any, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.opts.Logger.Error("operation panicked", "operation", what, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			value, err = nil, fmt.Errorf("%s: bug in the driver, see its log for the stack: %v", what, p)
		}
	}()
	return f(ctx)
}

// close prevents new operations.
func (fs *flights) close() {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.closed = true
}
