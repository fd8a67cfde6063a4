package fault

import (
	"context"
	"sync"
)

// Turn takes the engine's lock with that name, for operations that must not run concurrently, and waits for it until ctx ends.
// Call end to release it; it must not be nested.
func (c *Call) Turn(ctx context.Context, name string) (end func(), err error) {
	if c.turns == nil { // a call without an engine
		return func() {}, ctx.Err()
	}
	turn := c.turns.of(name)
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// turns holds the locks by name: sending to a channel takes the lock.
type turns struct {
	mu    sync.Mutex
	named map[string]chan struct{}
}

func (t *turns) of(name string) chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.named == nil {
		t.named = make(map[string]chan struct{})
	}
	if t.named[name] == nil {
		t.named[name] = make(chan struct{}, 1)
	}
	return t.named[name]
}
