package light

import (
	"context"
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
)

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
