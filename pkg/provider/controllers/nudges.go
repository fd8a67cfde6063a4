package controllers

import (
	"context"
	"sync"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
)

// mostPending is how many VMs are remembered one by one; more are everything.
const mostPending = 4096

// Nudges collects what changed at the vCenters until the controllers take it up. All methods may be called from any
// goroutine; [Nudges.Changed] and [Nudges.Everything] never block, also before the controllers have started: what was
// said by then is not lost. The zero value is ready for use, by one call of [Initializers].
type Nudges struct {
	mu      sync.Mutex
	pending news
	wake    chan struct{}

	running sync.WaitGroup
	ended   bool
}

// news is what was said since the last time.
type news struct {
	ids        map[string]struct{}
	everything bool
}

// Changed says that something changed about the VM of that providerID, or that it is new or gone. Case and byte order
// do not count.
func (n *Nudges) Changed(providerID string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.pending.everything:
	case len(n.pending.ids) >= mostPending:
		n.pending = news{everything: true}
	case n.pending.ids == nil:
		n.pending.ids = map[string]struct{}{providerID: {}}
	default:
		n.pending.ids[providerID] = struct{}{}
	}
	n.signal()
}

// Everything says that any node may be concerned.
func (n *Nudges) Everything() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pending = news{everything: true}
	n.signal()
}

// Wait returns when what the controllers run has ended, after the context they were started with has. No controller
// starts any more from then on. A call to the API server that a stock controller has under way is waited for, as long as
// the client allows: not all of them heed the context. Its workers end on their own a moment later. Under leader
// election app.Run gives a context that never ends, and there is nothing to wait for.
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

// signal wakes whoever waits. The lock is held.
func (n *Nudges) signal() { notify.Wake(n.channel()) }

// channel returns the channel that is written to when there is news. The lock is held.
func (n *Nudges) channel() chan struct{} {
	if n.wake == nil {
		n.wake = make(chan struct{}, 1)
	}
	return n.wake
}

// take returns the news and forgets it.
func (n *Nudges) take() news {
	n.mu.Lock()
	defer n.mu.Unlock()
	taken := n.pending
	n.pending = news{}
	return taken
}

// each calls f with the news, paced by p, until ctx ends.
func (n *Nudges) each(ctx context.Context, p pace, f func(news)) {
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
