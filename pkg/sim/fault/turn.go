package fault

import (
	"context"
	"sync"
)

// Turn waits until no other call of the engine has the turn of that name, and takes it: for what does not go side by side.
// The returned func ends it; it must not be nested. Its error is that of ctx.
func (c *Call) Turn(ctx context.Context, name string) (end func(), err error) {
	if c.turns == nil { // a call that no engine makes
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

// turns are those of an engine, by name: whoever has sent to a channel has its turn.
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
