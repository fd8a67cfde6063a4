package light

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// leases renews the Leases of live nodes: each node holds its own, as with kubelets.
type leases struct {
	ctx      context.Context // of the program
	client   kubernetes.Interface
	duration time.Duration
	log      *slog.Logger
	queue    workqueue.TypedDelayingInterface[string]

	mu   sync.Mutex
	held map[string]*lease // by node
}

type lease struct {
	uid    types.UID             // of the Node, which owns it
	latest *coordinationv1.Lease // as written last; nil if unknown. For the worker.
	ctx    context.Context       // ends when it is released
	cancel context.CancelFunc
}

func newLeases(ctx context.Context, client kubernetes.Interface, duration time.Duration, log *slog.Logger) *leases {
	return &leases{
		ctx: ctx, client: client, duration: duration, log: log, held: map[string]*lease{},
		queue: workqueue.NewTypedDelayingQueue[string](),
	}
}

// renewEvery returns the interval of renewals: a quarter of the duration, as in kubelets.
func (l *leases) renewEvery() time.Duration { return l.duration / 4 }

// hold starts to renew the Lease of a node.
func (l *leases) hold(node string, uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if had := l.held[node]; had != nil {
		if had.uid == uid {
			return
		}
		had.cancel()
	}
	one := &lease{uid: uid}
	one.ctx, one.cancel = context.WithCancel(l.ctx)
	l.held[node] = one
	l.queue.Add(node)
}

// release stops the renewal, also one in progress.
func (l *leases) release(node string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if had := l.held[node]; had != nil {
		had.cancel()
		delete(l.held, node)
	}
}

func (l *leases) find(node string) *lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held[node]
}

// work renews due Leases until the queue is shut down. Several goroutines may call it: the queue gives each Lease to one
// at a time.
func (l *leases) work() {
	for {
		node, end := l.queue.Get()
		if end {
			return
		}
		l.process(node)
		l.queue.Done(node)
	}
}

func (l *leases) process(node string) {
	one := l.find(node)
	if one == nil {
		return
	}
	next := l.renewEvery()
	if one.latest == nil {
		// Spread Leases that were all taken up at once, as after a restart.
		next = next/4 + rand.N(next*3/4)
	} else {
		next += rand.N(next/25 + 1) // a kubelet's jitter
	}
	if err := l.renew(one, node); err != nil && one.ctx.Err() == nil {
		l.log.Warn("lease", "node", node, "err", err)
		next = l.renewEvery() / 4
	}
	l.queue.AddAfter(node, next)
}

// renew updates the Lease, first with the resource version of the last update.
func (l *leases) renew(one *lease, node string) error {
	ctx, cancel := context.WithTimeout(one.ctx, l.duration)
	defer cancel()
	if one.latest != nil {
		err := l.update(ctx, one, node, one.latest)
		if err == nil || !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			return err
		}
	} else if err := l.create(ctx, one, node); !apierrors.IsAlreadyExists(err) {
		return err
	}
	one.latest = nil
	api := l.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	has, err := api.Get(ctx, node, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return l.create(ctx, one, node)
	}
	if err != nil {
		return err
	}
	return l.update(ctx, one, node, has)
}

func (l *leases) update(ctx context.Context, one *lease, node string, from *coordinationv1.Lease) error {
	to := l.filled(one, node, from.DeepCopy())
	written, err := l.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Update(ctx, to, metav1.UpdateOptions{})
	if err == nil {
		one.latest = written
	}
	return err
}

func (l *leases) create(ctx context.Context, one *lease, node string) error {
	fresh := l.filled(one, node, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: node, Namespace: corev1.NamespaceNodeLease}})
	written, err := l.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Create(ctx, fresh, metav1.CreateOptions{})
	if err == nil {
		one.latest = written
	}
	return err
}

func (l *leases) filled(one *lease, node string, o *coordinationv1.Lease) *coordinationv1.Lease {
	o.Spec.HolderIdentity = &node
	o.Spec.LeaseDurationSeconds = new(int32(l.duration.Seconds()))
	o.Spec.RenewTime = new(metav1.NowMicro())
	o.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node, UID: one.uid}}
	return o
}
