package child

import (
	"context"
	"fmt"
)

// restartRequest is a restart on its way to the supervisor; the channel, of
// capacity 1, takes the outcome of the start.
type restartRequest struct {
	done   chan error
	gentle bool // TERM first
}

// Restart kills the process if there is one and starts a new one at once, not
// suspended and with the back-off as after a healthy run. It returns when the
// new process has been started, or with the reason why it was not; the child
// goes on trying then. When ctx is done first, the restart happens without
// being waited for, or not at all.
func (c *Child) Restart(ctx context.Context) error { return c.restart(ctx, false) }

// Renew is Restart with a process that is ended as [Child.Stop] ends it: TERM,
// and KILL only after the Spec's StopGrace.
func (c *Child) Renew(ctx context.Context) error { return c.restart(ctx, true) }

func (c *Child) restart(ctx context.Context, gentle bool) error {
	ask := &restartRequest{done: make(chan error, 1), gentle: gentle}
	select {
	case c.asks <- ask:
	case <-c.done:
		return fmt.Errorf("%s: %w", c.spec.Name, ErrStopped)
	case <-ctx.Done():
		return fmt.Errorf("%s: restart: %w", c.spec.Name, ctx.Err())
	}
	select {
	case err := <-ask.done:
		return err
	case <-c.done:
		return fmt.Errorf("%s: %w", c.spec.Name, ErrStopped)
	case <-ctx.Done():
		return fmt.Errorf("%s: restart: %w", c.spec.Name, ctx.Err())
	}
}

// makeWay ends p for its successor; stuck as in end.
func (c *Child) makeWay(p *process, ask *restartRequest) (err error, stuck bool) { //nolint:revive // as in end
	if ask.gentle {
		return c.end(p)
	}
	p.ending.Store(true)
	err = c.kill(p)
	return err, err != nil
}
