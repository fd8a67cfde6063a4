package node

import (
	"context"
	"errors"
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
)

// ErrNoGuest is returned for what needs a guest that runs: its VM is off, hangs or is suspended, or has not booted.
var ErrNoGuest = errors.New("its guest does not run")

// ask is something that the node's goroutine is to do.
type ask struct {
	do   func(*boot) error
	done chan error // of capacity 1
}

// ask returns what f does with the process in the node's goroutine.
func (n *Node) ask(ctx context.Context, f func(*boot) error) error {
	a := ask{do: f, done: make(chan error, 1)}
	select {
	case n.asks <- a:
	case <-n.done:
		return child.ErrStopped
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-a.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
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
