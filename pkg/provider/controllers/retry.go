package controllers

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// burstInterval is the least time between two attempts at everything that is not initialized.
const burstInterval = time.Second

// retry makes the cloud-node controller try nodes again that still have the uninitialized taint, whatever its back-off.
type retry struct {
	nodes   corelisters.NodeLister
	handler cache.ResourceEventHandler // the controller's own
	wake    chan struct{}
}

func newRetry(nodes corelisters.NodeLister) *retry {
	return &retry{nodes: nodes, wake: make(chan struct{}, 1)}
}

// node tries one node now.
func (r *retry) node(node *v1.Node) {
	if !initialized(node) {
		r.handler.OnUpdate(node, node)
	}
}

// all tries all nodes soon. It does not block.
func (r *retry) all() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// run tries all nodes when asked to, at most once in an interval, until ctx ends.
func (r *retry) run(ctx context.Context) {
	for {
		select {
		case <-r.wake:
		case <-ctx.Done():
			return
		}
		nodes, err := r.nodes.List(labels.Everything())
		if err != nil { // a lister reads from memory: there is nothing that could fail
			return
		}
		for _, node := range nodes {
			r.node(node)
		}
		if !sleep(ctx, burstInterval) {
			return
		}
	}
}
