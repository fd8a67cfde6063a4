package node

import (
	"context"
	"errors"
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
)

// ErrNoGuest is returned for what needs a guest that runs: its VM is off, hangs or is suspended, or has not booted.
var ErrNoGuest = errors.New("its guest does not run")

// Ask is something that the goroutine of a guest does for others.
type Ask[F any] struct {
	Do   F
	Done chan error // of capacity 1
}

// Send has the goroutine that reads asks do f, and returns what that returns: [child.ErrStopped] once ended is closed.
func Send[F any](ctx context.Context, asks chan<- Ask[F], ended <-chan struct{}, f F) error {
	a := Ask[F]{Do: f, Done: make(chan error, 1)}
	select {
	case asks <- a:
	case <-ended:
		return child.ErrStopped
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-a.Done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ask returns what f does with the process in the node's goroutine.
func (n *Node) ask(ctx context.Context, f func(*boot) error) error {
	return Send(ctx, n.asks, n.done, f)
}

// Crash kills the kubelet, which is started again after a while: its machine runs on. It returns when the process is
// gone.
func (n *Node) Crash(ctx context.Context) error {
	return n.ask(ctx, func(b *boot) error {
		if b.process == nil {
			return ErrNoGuest
		}
		return b.process.Crash()
	})
}

// Restart ends the kubelet properly and starts another, as its init system does when told to. It returns when the new
// one has been started.
func (n *Node) Restart(ctx context.Context) error {
	return n.ask(ctx, func(b *boot) error {
		if b.process == nil || b.state != Running {
			return fmt.Errorf("kubelet: %w", ErrNoGuest)
		}
		return b.process.Renew(ctx)
	})
}
