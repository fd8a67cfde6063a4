package node

import (
	"context"
	"sync"
)

// working counts what is being done. Unlike a sync.WaitGroup it may be waited for, and given up on, while more begins. The
// zero value is ready.
type working struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when n is 0 again; nil while nobody has asked
}

func (w *working) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n++
}

func (w *working) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.n--; w.n == 0 && w.idle != nil {
		close(w.idle)
		w.idle = nil
	}
}

// wait returns when nothing is being done, or with ctx's error.
func (w *working) wait(ctx context.Context) error {
	w.mu.Lock()
	if w.n == 0 {
		w.mu.Unlock()
		return nil
	}
	if w.idle == nil {
		w.idle = make(chan struct{})
	}
	idle := w.idle
	w.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
