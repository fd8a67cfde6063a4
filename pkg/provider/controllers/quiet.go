package controllers

import (
	"context"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
)

// The stock controllers write a line to the log for every node, in every turn, that they have no answer for: every 5 s
// while a vCenter is out. The provider tells each of these once, in an event and in the log. So where an error has a
// controller do nothing for a node, it is given the answer at which it does nothing too, and says nothing.

// quietCloud is a cloud with other instances.
type quietCloud struct {
	cloudprovider.Interface
	instances cloudprovider.InstancesV2
}

func (c quietCloud) InstancesV2() (cloudprovider.InstancesV2, bool) { return c.instances, true }

// quietNode returns cloud for the cloud-node controller. For an initialized node it is told of no addresses, which it
// takes for "leave them", when there is no answer, and when the node has them already: its comparison of addresses keeps
// one of each type (controllers/node, nodeAddressesChangeDetected), so that a dual-stack node always looks changed to it,
// and is patched every time.
func quietNode(cloud cloudprovider.Interface, log *slog.Logger) cloudprovider.Interface {
	instances, ok := cloud.InstancesV2()
	if !ok || instances == nil {
		return cloud
	}
	return quietCloud{cloud, nodeInstances{instances, log}}
}

type nodeInstances struct {
	cloudprovider.InstancesV2
	log *slog.Logger
}

func (i nodeInstances) InstanceMetadata(ctx context.Context, node *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	metadata, err := i.InstancesV2.InstanceMetadata(ctx, node)
	switch {
	case !initialized(node):
		return metadata, err
	case err != nil:
		i.log.Debug("addresses are unknown, they stay", "node", node.Name, "err", err)
		return &cloudprovider.InstanceMetadata{}, nil
	case metadata == nil || !hasAddresses(node, metadata.NodeAddresses):
		return metadata, nil
	}
	same := *metadata
	same.NodeAddresses = nil
	return &same, nil
}

// quietLifecycle returns cloud for one cloud-node-lifecycle controller, which asks about one node at a time: whether its
// VM exists, and right after that, if it does, whether it is off. Where there is no answer the node is left as it is.
func quietLifecycle(cloud cloudprovider.Interface, log *slog.Logger) cloudprovider.Interface {
	instances, ok := cloud.InstancesV2()
	if !ok || instances == nil {
		return cloud
	}
	return quietCloud{cloud, &lifecycleInstances{InstancesV2: instances, log: log}}
}

type lifecycleInstances struct {
	cloudprovider.InstancesV2
	log   *slog.Logger
	doubt *corev1.Node // that was asked about last, if there was no answer
}

// InstanceExists says that a VM exists where that is not known: then nothing is deleted.
func (i *lifecycleInstances) InstanceExists(ctx context.Context, node *corev1.Node) (bool, error) {
	exists, err := i.InstancesV2.InstanceExists(ctx, node)
	i.doubt = nil
	if err != nil {
		i.log.Debug("whether the vm exists is unknown, the node stays", "node", node.Name, "err", err)
		i.doubt = node
		return true, nil
	}
	return exists, nil
}

// InstanceShutdown says that a VM is not off where that is not known, or where it is not known whether it exists: then
// there is no taint.
func (i *lifecycleInstances) InstanceShutdown(ctx context.Context, node *corev1.Node) (bool, error) {
	if i.doubt == node {
		return false, nil
	}
	off, err := i.InstancesV2.InstanceShutdown(ctx, node)
	if err != nil {
		i.log.Debug("whether the vm is off is unknown, the node stays as it is", "node", node.Name, "err", err)
		return false, nil
	}
	return off, nil
}

// mostAtOnce bounds a batch, so that urged nodes do not wait for a round over all of them.
const mostAtOnce = 256

// queue is the order in which [rounds] hands out: urged nodes first, then those of the round, each unless it is with a
// consumer just now. It is used by one goroutine.
type queue struct {
	alone func(name string) bool

	urgent  []string
	waiting map[string]bool // those in urgent
	routine []string
	busy    map[string]bool

	inRound bool
	held    int // batches of the round that are with consumers
}

func newQueue(alone func(string) bool) *queue {
	return &queue{alone: alone, waiting: map[string]bool{}, busy: map[string]bool{}}
}

func (q *queue) urge(names []string) {
	for _, name := range names {
		if !q.waiting[name] {
			q.waiting[name] = true
			q.urgent = append(q.urgent, name)
		}
	}
}

// hurried reports whether there is an urged node that could be handed out.
func (q *queue) hurried() bool {
	for _, name := range q.urgent {
		if !q.busy[name] {
			return true
		}
	}
	return false
}

func (q *queue) beginRound(names []string) { q.routine, q.inRound = names, true }

// endRound reports, once, that everything of the round has been handed out and come back; next is what has been taken
// and not handed out.
func (q *queue) endRound(next *batch) bool {
	if !q.inRound || q.held > 0 || len(q.routine) > 0 || next != nil && !next.urged {
		return false
	}
	q.inRound = false
	return true
}

// take returns the next batch; nil when there is nothing to hand out.
func (q *queue) take() *batch {
	var names []string
	if names, q.urgent = q.cut(q.urgent); len(names) > 0 {
		for _, name := range names {
			delete(q.waiting, name)
		}
		return &batch{names: names, urged: true}
	}
	if names, q.routine = q.cut(q.routine); len(names) > 0 {
		return &batch{names: names}
	}
	return nil
}

// cut returns the first names that can be handed out together, and the rest. Those that are with a consumer go to the
// end of the rest.
func (q *queue) cut(from []string) (names, rest []string) {
	var busy []string
	for i, name := range from {
		if q.busy[name] {
			busy = append(busy, name)
			continue
		}
		alone := q.alone(name)
		if len(names) == mostAtOnce || alone && len(names) > 0 {
			return names, append(from[i:len(from):len(from)], busy...)
		}
		names = append(names, name)
		if alone {
			return names, append(from[i+1:len(from):len(from)], busy...)
		}
	}
	return names, busy
}

// putBack undoes the take of a batch of the round.
func (q *queue) putBack(b *batch) { q.routine = append(b.names, q.routine...) }

func (q *queue) handed(b *batch) {
	for _, name := range b.names {
		q.busy[name] = true
	}
	if !b.urged {
		q.held++
	}
}

func (q *queue) returned(b *batch) {
	for _, name := range b.names {
		delete(q.busy, name)
	}
	if !b.urged {
		q.held--
	}
}

const (
	// burstInterval is the least time between two attempts at everything that is not initialized.
	burstInterval = time.Second
	// strangerInterval is that between two attempts because of VMs that no node is known to run on. In a large vCenter
	// these change all the time, and each attempt that fails is two lines in the log.
	strangerInterval = 10 * time.Second
)

// retry makes the cloud-node controller try nodes again that still have the uninitialized taint, whatever its back-off.
type retry struct {
	nodes   corelisters.NodeLister
	handler cache.ResourceEventHandler // the controller's own
	wake    chan struct{}
	met     chan struct{}
}

func newRetry(nodes corelisters.NodeLister) *retry {
	return &retry{nodes: nodes, wake: make(chan struct{}, 1), met: make(chan struct{}, 1)}
}

// node tries one node now.
func (r *retry) node(node *corev1.Node) {
	if !initialized(node) {
		r.handler.OnUpdate(node, node)
	}
}

// all tries all nodes soon. It does not block.
func (r *retry) all() { notify.Wake(r.wake) }

// stranger says that a VM has changed which may be that of any of the nodes. It does not block.
func (r *retry) stranger() { notify.Wake(r.met) }

// run tries all nodes when asked to, no more often than the intervals allow, until ctx ends.
func (r *retry) run(ctx context.Context) {
	var last time.Time
	for {
		select {
		case <-r.wake:
		case <-r.met:
			if !r.wait(ctx, strangerInterval-time.Since(last)) {
				return
			}
		case <-ctx.Done():
			return
		}
		last = time.Now()
		nodes, err := r.nodes.List(labels.Everything())
		if err != nil { // a lister reads from memory: there is nothing that could fail
			return
		}
		for _, node := range nodes {
			r.node(node)
		}
		if backoff.Sleep(ctx, burstInterval) != nil {
			return
		}
	}
}

// wait waits for d, or until all nodes are to be tried; false when ctx ended first.
func (r *retry) wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.wake:
	case <-ctx.Done():
		return false
	}
	return true
}
