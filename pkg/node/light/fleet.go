package light

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/workqueue"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node/light/feed"
)

// fleet manages the Nodes of all machines of the feed.
type fleet struct {
	client kubernetes.Interface
	maker  maker
	speed  pace.Speed
	log    *slog.Logger
	leases *leases
	nodes  nodeCache
	// pods is called with a node whose pods need a resync; it may be nil.
	pods  func(node string)
	queue workqueue.TypedRateLimitingInterface[string] // of machines' IDs

	mu     sync.Mutex
	guests map[string]*guest // by ID
	names  map[string]string // a node's name to its machine
}

// guest is one machine with the state of its Node.
type guest struct {
	// Guarded by the fleet's lock:
	want feed.Guest
	kept string // the name of the machine's Node, or ""
	// alive is set if its Node is registered and the machine sends heartbeats.
	alive   bool
	deleted types.UID // of its last Node that was deleted

	// Of the one worker that has the machine:
	since   start     // the start of the kubelet that has registered the Node
	uid     types.UID // of the Node; "" if it was deleted
	posted  time.Time // of the last status
	failure string    // the last error
}

// start identifies one start of a kubelet.
type start struct {
	name, uuid string
	boot       int64
	starts     int
}

func startOf(m feed.Guest) start { return start{m.Name, m.UUID, m.Boot.UnixNano(), m.Starts} }

// changed handles a machine of the feed.
func (f *fleet) changed(m feed.Guest) {
	f.mu.Lock()
	g := f.guests[m.ID]
	if g == nil {
		g = &guest{}
		f.guests[m.ID] = g
	}
	g.want = m
	f.mu.Unlock()
	f.queue.Add(m.ID)
}

// found handles a Node of the watch: one that was deleted, or is unexpectedly not ready, is reconciled.
func (f *fleet) found(n *corev1.Node, deleted bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	id, ours := f.names[n.Name]
	g := f.guests[id]
	switch {
	case !ours || !g.want.SendsHeartbeats():
	case deleted:
		g.deleted = n.UID
		f.queue.Add(id)
	case !ready(n):
		// A kubelet checks its Node only from time to time.
		f.queue.AddAfter(id, rand.N(f.speed.Of(pace.NodeStatusUpdate))+1)
	}
}

// keeps reports whether a node is one of ours, and whether it is alive.
func (f *fleet) keeps(node string) (ours, alive bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	id, ours := f.names[node]
	return ours, ours && f.guests[id].alive
}

// work reconciles machines until the queue is shut down.
func (f *fleet) work(ctx context.Context) {
	for {
		id, end := f.queue.Get()
		if end {
			return
		}
		again, err := f.within(ctx, id)
		switch {
		case err != nil:
			f.queue.AddRateLimited(id)
		case again > 0:
			f.queue.Forget(id)
			f.queue.AddAfter(id, again)
		default:
			f.queue.Forget(id)
		}
		f.queue.Done(id)
	}
}

// within calls follow with a kubelet's timeout.
func (f *fleet) within(ctx context.Context, id string) (again time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, max(f.speed.Of(pace.NodeStatusUpdate), time.Second))
	defer cancel()
	return f.follow(ctx, id)
}

// follow reconciles a machine's Node. It returns the delay of the next call if nothing changes; 0: none.
func (f *fleet) follow(ctx context.Context, id string) (again time.Duration, err error) {
	t := f.take(id)
	if t.guest == nil || !t.SendsHeartbeats() {
		return 0, nil
	}
	defer func() { f.note(ctx, t, err) }()
	if t.taken {
		return 0, errTaken
	}
	if t.since != startOf(t.Guest) {
		n, existed, err := f.register(ctx, t.Guest)
		if err != nil {
			return 0, err
		}
		t.since, t.uid, t.posted = startOf(t.Guest), n.UID, time.Now()
		f.live(t, existed)
		return f.report(), nil
	}
	return f.keep(ctx, t)
}

// keep maintains the Node of a registered kubelet.
func (f *fleet) keep(ctx context.Context, t task) (again time.Duration, err error) {
	n, known := f.nodes.Get(t.Name)
	if known && n.UID != t.uid && n.UID != t.dead { // another client created it again, and the kubelet continues with that
		t.uid, t.posted = n.UID, time.Time{}
	}
	late := time.Since(t.posted)
	switch {
	case t.uid == "" || t.uid == t.dead:
		err = errLost
	case t.posted.IsZero() || known && !ready(n) && late > settle:
		if _, err = f.post(ctx, t.Guest); err == nil {
			t.wasAlive = false // its pods were evicted, too
		}
	case late >= f.report():
		err = f.beat(ctx, t.Name)
	default:
		f.live(t, !t.wasAlive)
		return f.report() - late, nil
	}
	switch {
	case errors.Is(err, errLost) || apierrors.IsNotFound(err):
		// A kubelet registers its Node when it starts and never again.
		f.lost(t)
		return 0, nil
	case errors.Is(err, errOthers):
		f.lost(t)
		return 0, err
	case err != nil:
		return 0, err
	}
	t.posted = time.Now()
	f.live(t, !t.wasAlive)
	return f.report(), nil
}

// settle is the time for the watch to deliver what was written.
const settle = time.Second / 2

var (
	errTaken  = errors.New("another machine has that name")
	errLost   = errors.New("its Node was deleted")
	errOthers = errors.New("the cluster has a Node of that name that belongs to another owner: it is not changed")
)

// note logs an error, once.
func (f *fleet) note(ctx context.Context, t task, err error) {
	switch {
	case err == nil:
		t.failure = ""
	case err.Error() != t.failure && ctx.Err() == nil:
		t.failure = err.Error()
		f.log.Warn("node", "node", t.Name, "machine", t.ID, "err", err)
	}
}

// report is the interval of an unchanged status.
func (f *fleet) report() time.Duration { return f.speed.Of(pace.NodeStatusReport) }

// task is a machine that a worker reconciles.
type task struct {
	*guest
	feed.Guest
	wasAlive bool
	dead     types.UID // its last Node that was deleted
	taken    bool      // another machine has its name
}

// take returns the state of a machine for a worker. The Lease of one without heartbeats is released now; one that is gone
// is removed.
func (f *fleet) take(id string) task {
	f.mu.Lock()
	defer f.mu.Unlock()
	g := f.guests[id]
	if g == nil {
		return task{}
	}
	m := g.want
	renamed := m.SendsHeartbeats() && m.Name != g.kept
	if g.kept != "" && (!m.SendsHeartbeats() || renamed) {
		g.alive = false
		f.leases.release(g.kept)
	}
	if g.kept != "" && (m.State == feed.Gone || renamed) {
		delete(f.names, g.kept)
		g.kept = ""
	}
	if m.State == feed.Gone {
		delete(f.guests, id)
		return task{}
	}
	t := task{guest: g, Guest: m, wasAlive: g.alive, dead: g.deleted}
	if m.SendsHeartbeats() && g.kept == "" {
		if _, t.taken = f.names[m.Name]; !t.taken {
			f.names[m.Name], g.kept = id, m.Name
		}
	}
	return t
}

// live records that a node is alive, unless the machine has changed since. returned means that it may have earlier pods.
func (f *fleet) live(t task, returned bool) {
	f.mu.Lock()
	t.alive = t.want.SendsHeartbeats() && startOf(t.want) == startOf(t.Guest) && t.kept == t.Name
	alive := t.alive
	if alive {
		f.leases.hold(t.Name, t.uid)
	}
	f.mu.Unlock()
	if alive && returned && f.pods != nil {
		f.pods(t.Name)
	}
}

// lost records that the Node was deleted.
func (f *fleet) lost(t task) {
	t.uid, t.posted = "", time.Time{}
	f.mu.Lock()
	t.alive = false
	f.mu.Unlock()
	f.leases.release(t.Name)
}
