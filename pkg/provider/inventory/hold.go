package inventory

import (
	"context"
	"errors"
	"sync"
)

// errEnded says that nobody held it any more, and that it cannot begin again.
var errEnded = errors.New("has ended")

// held runs something from the moment somebody holds it until nobody does.
type held struct {
	run func(context.Context) error

	mu      sync.Mutex
	holders int
	stop    context.CancelFunc // nil before the first hold
	done    chan struct{}      // closed when run has returned, with err
	err     error
}

// hold begins what is not running yet. Whoever held it calls release, once.
func (h *held) hold(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stop != nil && h.holders == 0 {
		return errEnded
	}
	h.holders++
	if h.stop != nil {
		return nil
	}
	// It may outlive the one who began it.
	ctx, h.stop = context.WithCancel(context.WithoutCancel(ctx))
	h.done = make(chan struct{})
	go func() {
		defer close(h.done)
		if err := h.run(ctx); !errors.Is(err, context.Canceled) {
			h.err = err
		}
	}()
	return nil
}

// release ends it when nobody else holds it, and waits for that end.
func (h *held) release() error {
	h.mu.Lock()
	h.holders--
	last := h.holders == 0
	h.mu.Unlock()
	if !last {
		return nil
	}
	h.stop()
	<-h.done
	return h.err
}
