package controllers

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
)

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
