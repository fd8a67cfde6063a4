package csi

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
)

// The parts of a leader run while it leads, again after it has led no longer, and never twice at the same time.
func TestLead(t *testing.T) {
	lose, started := make(chan context.CancelFunc), make(chan struct{})
	e := &Engine{log: slog.New(slog.DiscardHandler), opts: Options{Lead: func(ctx context.Context, run func(context.Context)) error {
		held, cancel := context.WithCancel(ctx)
		defer cancel()
		done := make(chan struct{})
		go func() { run(held); close(done) }()
		select {
		case lose <- cancel:
		case <-ctx.Done():
		}
		<-held.Done()
		if ctx.Err() == nil {
			return errors.New("the Lease is lost") // while the parts may still run
		}
		<-done
		return nil
	}}}
	var running atomic.Int32
	parts := map[string]func(context.Context) error{"part": func(ctx context.Context) error {
		if n := running.Add(1); n != 1 {
			t.Errorf("%d at the same time", n)
		}
		defer running.Add(-1)
		started <- struct{}{}
		<-ctx.Done()
		return nil
	}}
	ctx, end := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- e.lead(ctx, parts) }()
	for range 3 {
		<-started
		(<-lose)()
	}
	<-started
	end()
	if err := <-over; err != nil || running.Load() != 0 {
		t.Errorf("%v, %d parts run", err, running.Load())
	}
}
