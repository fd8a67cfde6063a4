package lab

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// Taints of the cloud controllers.
const (
	UninitializedTaint = "node.cloudprovider.kubernetes.io/uninitialized"
	ShutdownTaint      = "node.cloudprovider.kubernetes.io/shutdown"
)

// Nodes is what the API server says of all Nodes, and everything that it said since the lab began. Its methods may be
// called from any goroutine. Nodes are shared and must not be changed.
type Nodes struct {
	mu      sync.Mutex
	now     NodeSet
	history []NodeChange
	changed chan struct{} // closed at the next change
}

// NodeChange is one event of the watch.
type NodeChange struct {
	At   time.Time
	Type watch.EventType // Added, Modified or Deleted
	Node *corev1.Node    // after the change, or the last state of one that was deleted
}

// NodeSet is all Nodes at one time, by name.
type NodeSet map[string]*corev1.Node

// follow begins to watch, and stops at the end of the test.
func follow(l *Lab) *Nodes {
	l.t.Helper()
	n := &Nodes{now: NodeSet{}, changed: make(chan struct{})}
	factory := informers.NewSharedInformerFactory(l.Client, 0)
	informer := factory.Core().V1().Nodes().Informer()
	handler, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { n.add(watch.Added, o) },
		UpdateFunc: func(_, o any) { n.add(watch.Modified, o) },
		DeleteFunc: func(o any) {
			if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = gone.Obj
			}
			n.add(watch.Deleted, o)
		},
	})
	if err != nil {
		l.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	l.t.Cleanup(func() { cancel(); factory.Shutdown() })
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(l.t.Context().Done(), handler.HasSynced) {
		l.t.Fatal("the API server does not list nodes")
	}
	return n
}

func (n *Nodes) add(kind watch.EventType, o any) {
	node, ok := o.(*corev1.Node)
	if !ok {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.history = append(n.history, NodeChange{At: time.Now(), Type: kind, Node: node})
	if kind == watch.Deleted {
		delete(n.now, node.Name)
	} else {
		n.now[node.Name] = node
	}
	close(n.changed)
	n.changed = make(chan struct{})
}

// Now is all Nodes.
func (n *Nodes) Now() NodeSet {
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.Clone(n.now)
}

// Changed is closed at the next change.
func (n *Nodes) Changed() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.changed
}

// Since is what happened after a moment, in order.
func (n *Nodes) Since(t time.Time) []NodeChange {
	n.mu.Lock()
	defer n.mu.Unlock()
	i, _ := slices.BinarySearchFunc(n.history, t, func(c NodeChange, t time.Time) int { return c.At.Compare(t) })
	return slices.Clone(n.history[i:])
}

// First is when a Node of that name was first seen as is says, after a moment; false when it never was.
func (n *Nodes) First(name string, after time.Time, is func(NodeChange) bool) (time.Time, bool) {
	for _, c := range n.Since(after) {
		if c.Node.Name == name && is(c) {
			return c.At, true
		}
	}
	return time.Time{}, false
}

// Deleted reports whether the change is the end of a Node; for [Nodes.First].
func Deleted(c NodeChange) bool { return c.Type == watch.Deleted }

// Tainted reports whether the change left the Node with that taint; for [Nodes.First].
func Tainted(key string) func(NodeChange) bool {
	return func(c NodeChange) bool { return c.Type != watch.Deleted && HasTaint(c.Node, key) }
}

// NotReady reports whether the change left the Node without a heartbeat, by its Ready condition; for [Nodes.First].
func NotReady(c NodeChange) bool {
	i := slices.IndexFunc(c.Node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	return c.Type != watch.Deleted && (i < 0 || c.Node.Status.Conditions[i].Status != corev1.ConditionTrue)
}
