package fleet

import (
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node/light/feed"
)

// Fleet has all light nodes of a sandbox. Create it with [New], end it with [Fleet.Close]. Its methods may be called from
// any goroutine.
type Fleet struct {
	source *feed.Source

	begin sync.Once // run starts with the first guest

	mu      sync.Mutex
	dirty   []*Guest // guests to reconcile, each once
	program process
	wake    chan struct{}
	closed  chan struct{}
	done    chan struct{}
}

// process is the state of the program's process, as its supervisor reported it last.
type process struct {
	pid      int
	crashing bool
}

// New returns a fleet without guests. It starts no goroutine before the first guest.
func New() *Fleet {
	return &Fleet{source: feed.NewSource(), wake: make(chan struct{}, 1), closed: make(chan struct{}), done: make(chan struct{})}
}

// Feed is the source that the program reads.
func (f *Fleet) Feed() *feed.Source { return f.source }

// Program handles a change of the program's process. Use it as a child's notify function, or call it there.
func (f *Fleet) Program(c child.Change) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch c.State {
	case child.Started:
		f.program = process{pid: c.PID}
	case child.Exited, child.Restarting:
		f.program = process{crashing: true}
	case child.Stopped:
		f.program = process{}
	}
}

// Guest returns the guest of a VM that does not exist yet; id must be unique.
func (f *Fleet) Guest(id string, opts Options) *Guest {
	f.begin.Do(func() { go f.run() })
	return &Guest{fleet: f, id: id, opts: opts, process: node.Stopped}
}

// Close ends the fleet; guests follow their VMs no more. It returns when nothing of it runs.
func (f *Fleet) Close() {
	f.mu.Lock()
	select {
	case <-f.closed:
	default:
		close(f.closed)
	}
	f.mu.Unlock()
	f.begin.Do(func() { close(f.done) })
	<-f.done
}

// enqueue schedules a guest. The caller of Observe may hold a lock, so the guest is followed, and notifies, in another
// goroutine.
func (f *Fleet) enqueue(g *Guest) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !g.dirty {
		g.dirty = true
		f.dirty = append(f.dirty, g)
	}
	notify.Wake(f.wake)
}

func (f *Fleet) run() {
	defer close(f.done)
	for {
		select {
		case <-f.wake:
		case <-f.closed:
			return
		}
		f.mu.Lock()
		batch := f.dirty
		f.dirty = nil
		for _, g := range batch {
			g.dirty = false
		}
		f.mu.Unlock()
		for _, g := range batch {
			g.reconcile()
		}
	}
}

// leasesPerSecond is what a control plane on two cores handles beside its other load. Each costs it about a millisecond.
const leasesPerSecond = 250

// LeaseDuration returns the duration of Leases for so many nodes: a kubelet's, or up to twice that if renewing all of
// them at a quarter of it would overload a small control plane. The limit is twice, since a second renewal must fit into
// the node monitor's grace period, or one late renewal would make a node not ready.
func LeaseDuration(nodes int, speed pace.Speed) time.Duration {
	usual := speed.Of(pace.NodeLease)
	enough := 4 * time.Duration(nodes) * time.Second / leasesPerSecond
	return max(usual, min(enough.Round(time.Second), 2*usual))
}
