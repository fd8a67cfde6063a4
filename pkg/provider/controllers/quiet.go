package controllers

import (
	"context"
	"log/slog"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
)

// While a vCenter is unreachable, the stock controllers log a line every 5 s for every node that they get an error for. The
// provider reports each of these errors once, in an Event and in the log. So where an error makes a controller do nothing for
// a node, the types below return a result for which it also does nothing, but does not log.

// quietCloud is a cloud with different instances.
type quietCloud struct {
	cloudprovider.Interface
	instances cloudprovider.InstancesV2
}

func (c quietCloud) InstancesV2() (cloudprovider.InstancesV2, bool) { return c.instances, true }

// quietNode returns cloud for the cloud-node controller. For an initialized node it returns no addresses, after which the
// controller keeps the current ones, in two cases: on an error, and if the node has the addresses already. The second avoids
// a patch of each dual-stack node in every round, because the controller compares only one address of each type
// (controllers/node, nodeAddressesChangeDetected).
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
		i.log.Debug("addresses are unknown: keeping the node's addresses", "node", node.Name, "err", err)
		return &cloudprovider.InstanceMetadata{}, nil
	case metadata == nil || !hasAddresses(node, metadata.NodeAddresses):
		return metadata, nil
	}
	same := *metadata
	same.NodeAddresses = nil
	return &same, nil
}

// quietLifecycle returns cloud for one cloud-node-lifecycle controller. That asks for one node at a time whether its VM
// exists, and if so whether it is off. On an error the node stays as it is.
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
	doubt *corev1.Node // the node of the last call if it returned an error
}

// InstanceExists returns true on an error, so that the node is not deleted.
func (i *lifecycleInstances) InstanceExists(ctx context.Context, node *corev1.Node) (bool, error) {
	exists, err := i.InstancesV2.InstanceExists(ctx, node)
	i.doubt = nil
	if err != nil {
		i.log.Debug("cannot check whether the vm exists: keeping the node", "node", node.Name, "err", err)
		i.doubt = node
		return true, nil
	}
	return exists, nil
}

// InstanceShutdown returns false on an error, or if InstanceExists has just failed, so that the node gets no taint.
func (i *lifecycleInstances) InstanceShutdown(ctx context.Context, node *corev1.Node) (bool, error) {
	if i.doubt == node {
		return false, nil
	}
	off, err := i.InstancesV2.InstanceShutdown(ctx, node)
	if err != nil {
		i.log.Debug("cannot check whether the vm is off: keeping the node's taints", "node", node.Name, "err", err)
		return false, nil
	}
	return off, nil
}

// maxBatch bounds a batch, so that urged nodes do not wait for a round over all nodes.
const maxBatch = 256

// queue is the order in which [rounds] hands out nodes: urged nodes first, then those of the round, except nodes that a
// consumer has now. It is used by one goroutine.
type queue struct {
	alone func(name string) bool

	urgent  []string
	waiting map[string]bool // the nodes in urgent
	routine []string
	busy    map[string]bool

	inRound bool
	held    int // batches of the round that consumers have
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

// hasUrgent reports whether an urged node can be handed out.
func (q *queue) hasUrgent() bool {
	return slices.ContainsFunc(q.urgent, func(name string) bool { return !q.busy[name] })
}

func (q *queue) beginRound(names []string) { q.routine, q.inRound = names, true }

// endRound reports, once, that all nodes of the round have been handed out and returned; next is the batch that has been
// taken but not handed out.
func (q *queue) endRound(next *batch) bool {
	if !q.inRound || q.held > 0 || len(q.routine) > 0 || next != nil && !next.urged {
		return false
	}
	q.inRound = false
	return true
}

// take returns the next batch, or nil.
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

// cut returns the first names that can be handed out together, and the rest, with the busy ones at its end.
func (q *queue) cut(from []string) (names, rest []string) {
	var busy []string
	for i, name := range from {
		if q.busy[name] {
			busy = append(busy, name)
			continue
		}
		alone := q.alone(name)
		if len(names) == maxBatch || alone && len(names) > 0 {
			return names, append(from[i:len(from):len(from)], busy...)
		}
		names = append(names, name)
		if alone {
			return names, append(from[i+1:len(from):len(from)], busy...)
		}
	}
	return names, busy
}

// putBack undoes take for a batch of the round.
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
	// burstInterval is the least time between two attempts for all uninitialized nodes.
	burstInterval = time.Second
	// unknownVMInterval is the least time between two attempts because of VMs that are not known to run a node. In a large
	// vCenter these change all the time, and each failed attempt logs two lines.
	unknownVMInterval = 10 * time.Second
)

// retry makes the cloud-node controller retry uninitialized nodes regardless of its back-off.
type retry struct {
	nodes   corelisters.NodeLister
	handler cache.ResourceEventHandler // the controller's own
	wake    chan struct{}
	unknown chan struct{}
}

func newRetry(nodes corelisters.NodeLister) *retry {
	return &retry{nodes: nodes, wake: make(chan struct{}, 1), unknown: make(chan struct{}, 1)}
}

// node retries one node now.
func (r *retry) node(node *corev1.Node) {
	if !initialized(node) {
		r.handler.OnUpdate(node, node)
	}
}

// all retries all nodes soon. It does not block.
func (r *retry) all() { notify.Wake(r.wake) }

// unknownVM reports a change of a VM that may belong to any of the nodes. It does not block.
func (r *retry) unknownVM() { notify.Wake(r.unknown) }

// run retries all nodes on request, within the limits of the intervals, until ctx ends.
func (r *retry) run(ctx context.Context) {
	var last time.Time
	for {
		select {
		case <-r.wake:
		case <-r.unknown:
			if !r.wait(ctx, unknownVMInterval-time.Since(last)) {
				return
			}
		case <-ctx.Done():
			return
		}
		last = time.Now()
		nodes, err := r.nodes.List(labels.Everything())
		if err != nil { // impossible: a lister reads from memory
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

// wait waits for d, or until all is called; false if ctx ends first.
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
