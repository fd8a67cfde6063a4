package controllers

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
)

// rounds hands out nodes to those who look after them, its consumers: all nodes when the period is over, and single
// ones at once when they are urged. A node is with one consumer at a time. Consumers take with [rounds.next]; run must
// be running. All other methods may be called from any goroutine and do not block.
type rounds struct {
	period time.Duration
	floor  time.Duration // the least time between two rounds
	nodes  corelisters.NodeLister
	synced cache.InformerSynced
	// alone says which nodes are handed out one by one, because looking after them may take long; none when nil.
	alone func(*corev1.Node) bool
	// onRound, when set, is called when a round over all nodes begins, but for the first one.
	onRound func()

	out, done chan *batch

	mu    sync.Mutex
	urged []string
	early bool
	wake  chan struct{}
}

// batch is what a consumer takes at once.
type batch struct {
	names []string
	urged bool
}

// init makes the channels; it returns r.
func (r *rounds) init() *rounds {
	r.out, r.done, r.wake = make(chan *batch), make(chan *batch), make(chan struct{}, 1)
	return r
}

// urge asks for nodes to be handed out now.
func (r *rounds) urge(names ...string) {
	if len(names) == 0 {
		return
	}
	r.mu.Lock()
	r.urged = append(r.urged, names...)
	r.mu.Unlock()
	r.signal()
}

// urgeAll asks for a round now, or as soon as the floor allows.
func (r *rounds) urgeAll() {
	r.mu.Lock()
	r.early = true
	r.mu.Unlock()
	r.signal()
}

func (r *rounds) signal() { notify.Wake(r.wake) }

// taken returns what was asked for since the last time.
func (r *rounds) taken() (urged []string, early bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	urged, early = r.urged, r.early
	r.urged, r.early = nil, false
	return urged, early
}

// run hands out until ctx ends. The first round begins when the informer is in sync.
func (r *rounds) run(ctx context.Context) {
	if !cache.WaitForCacheSync(ctx.Done(), r.synced) {
		return
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	q := newQueue(r.isAlone)
	var began time.Time
	var again bool
	var next *batch
	for {
		if next != nil && !next.urged && q.hurried() {
			q.putBack(next)
			next = nil
		}
		if next == nil {
			next = q.take()
		}
		if q.endRound(next) {
			if again {
				again = false
				timer.Reset(r.untilFloor(began))
			} else {
				timer.Reset(r.period)
			}
		}
		out := r.out
		if next == nil {
			out = nil
		}
		select {
		case <-ctx.Done():
			return
		case out <- next:
			q.handed(next)
			next = nil
		case b := <-r.done:
			q.returned(b)
		case <-r.wake:
			urged, early := r.taken()
			q.urge(urged)
			switch {
			case early && q.inRound:
				again = true
			case early:
				timer.Reset(r.untilFloor(began))
			}
		case <-timer.C:
			if r.onRound != nil && !began.IsZero() {
				r.onRound()
			}
			began = time.Now()
			q.beginRound(r.all())
		}
	}
}

func (r *rounds) untilFloor(began time.Time) time.Duration {
	return max(0, r.floor-time.Since(began))
}

// next gives back what the consumer had, if anything, and waits for more. Without nodes, ctx has ended.
func (r *rounds) next(ctx context.Context, had *batch) ([]*corev1.Node, *batch) {
	for {
		if had != nil {
			select {
			case r.done <- had:
			case <-ctx.Done():
				return nil, nil
			}
		}
		select {
		case had = <-r.out:
		case <-ctx.Done():
			return nil, nil
		}
		if nodes := r.resolve(had); len(nodes) > 0 {
			return nodes, had
		}
	}
}

// resolve returns the nodes as they are now, without those that are gone.
func (r *rounds) resolve(b *batch) []*corev1.Node {
	nodes := make([]*corev1.Node, 0, len(b.names))
	for _, name := range b.names {
		if node, err := r.nodes.Get(name); err == nil {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

func (r *rounds) isAlone(name string) bool {
	if r.alone == nil {
		return false
	}
	node, err := r.nodes.Get(name)
	return err == nil && r.alone(node)
}

// all returns the names of all nodes, sorted.
func (r *rounds) all() []string {
	nodes, err := r.nodes.List(labels.Everything())
	if err != nil { // a lister reads from memory: there is nothing that could fail
		return nil
	}
	names := make([]string, len(nodes))
	for i, node := range nodes {
		names[i] = node.Name
	}
	slices.Sort(names)
	return names
}
