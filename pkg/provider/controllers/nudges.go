package controllers

import (
	"context"
	"sync"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
)

// maxPending is how many VMs are recorded individually; after that every node counts as affected.
const maxPending = 4096

// Nudges collects changes at the vCenters for the controllers. All methods are safe for concurrent use. [Nudges.Changed] and
// [Nudges.Everything] never block, and changes before the controllers start are kept. The zero value is ready to use with one
// call of [Initializers].
type Nudges struct {
	mu      sync.Mutex
	pending changes
	wake    chan struct{}

	running sync.WaitGroup
	ended   bool
}

// changes are the changes since the last take.
type changes struct {
	ids        map[string]struct{}
	everything bool
}

// Changed reports that the VM with this providerID was added, changed or removed, in any case and byte order.
func (n *Nudges) Changed(providerID string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.pending.everything:
	case len(n.pending.ids) >= maxPending:
		n.pending = changes{everything: true}
	case n.pending.ids == nil:
		n.pending.ids = map[string]struct{}{providerID: {}}
	default:
		n.pending.ids[providerID] = struct{}{}
	}
	n.signal()
}

// Everything reports that any node may be affected.
func (n *Nudges) Everything() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pending = changes{everything: true}
	n.signal()
}

// Wait returns when everything that the controllers run has ended, after their context has ended. After that no controller
// starts. It waits for API calls of the stock controllers as long as the client allows, since not all of them use the
// context; their workers end shortly after. With leader election, app.Run's context never ends, so there is nothing to wait
// for.
func (n *Nudges) Wait() {
	n.mu.Lock()
	n.ended = true
	n.mu.Unlock()
	n.running.Wait()
}

// goRun runs f in a goroutine that Wait waits for.
func (n *Nudges) goRun(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.ended {
		n.running.Go(f)
	}
}

// signal wakes each. The lock is held.
func (n *Nudges) signal() { notify.Wake(n.channel()) }

// channel returns the channel that signals changes. The lock is held.
func (n *Nudges) channel() chan struct{} {
	if n.wake == nil {
		n.wake = make(chan struct{}, 1)
	}
	return n.wake
}

func (n *Nudges) take() changes {
	n.mu.Lock()
	defer n.mu.Unlock()
	taken := n.pending
	n.pending = changes{}
	return taken
}

// forEach calls f with the changes, paced by p, until ctx ends.
func (n *Nudges) forEach(ctx context.Context, p pace, f func(changes)) {
	n.mu.Lock()
	wake := n.channel()
	n.mu.Unlock()
	for {
		select {
		case <-wake:
		case <-ctx.Done():
			return
		}
		if !p.wait(ctx) {
			return
		}
		f(n.take())
	}
}
