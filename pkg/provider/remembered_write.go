package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/workqueue"
)

// The pauses before a patch is tried again that the API server has refused.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 5 * time.Minute
)

// annotations are the Nodes whose annotation may have to be written.
type annotations struct {
	queue atomic.Pointer[workqueue.TypedRateLimitingInterface[string]] // nil before the provider has started
	// written is what was last written to the Node of a name and what the informer has not shown yet.
	written sync.Map
}

// changed forgets what was written to a Node: its annotation has changed since, or it has been deleted.
func (a *annotations) changed(node *v1.Node) { a.written.Delete(node.Name) }

// remember has the Node's annotation written when it is not what it must be. It looks at the index, makes no call to a
// vCenter, and does not wait. Without informers it does nothing.
func (p *Provider) remember(node *v1.Node) {
	queue := p.annotations.queue.Load()
	if queue == nil || node.Name == "" {
		return
	}
	if _, _, due := p.now().instances().due(node); due {
		(*queue).Add(node.Name)
	}
}

// annotate writes the annotations of Nodes until ctx ends, one after the other.
func (p *Provider) annotate(ctx context.Context, client kubernetes.Interface) {
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](firstRetry, lastRetry))
	p.annotations.queue.Store(&queue)
	p.running.Go(func() {
		defer context.AfterFunc(ctx, queue.ShutDown)()
		for {
			name, ended := queue.Get()
			if ended {
				return
			}
			err := p.writeAnnotation(ctx, client, name)
			switch {
			case err == nil:
				queue.Forget(name)
			case ctx.Err() == nil:
				p.log.Warn("node annotation", "node", name, "err", err)
				queue.AddRateLimited(name)
			}
			queue.Done(name)
		}
	})
}

// writeAnnotation makes the annotation of the Node of that name what it must be, in one patch that applies to this Node
// alone and to nothing else of it.
func (p *Provider) writeAnnotation(ctx context.Context, client kubernetes.Interface, name string) error {
	node := p.nodes.known(name)
	if node == nil {
		return nil
	}
	text, vm, due := p.now().instances().due(node)
	if before, ok := p.annotations.written.Load(name); !due || ok && before == text {
		return nil
	}
	if _, err := rememberedBy(node); err != nil && !errors.Is(err, errNotRemembered) {
		p.nodes.events.annotation(node, err)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": node.UID, "annotations": map[string]string{VMAnnotation: text},
	}})
	if err != nil {
		return fmt.Errorf("patch: %w", err)
	}
	_, err = client.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil: // a conflict too: another node may have the name by now
		return fmt.Errorf("patch: %w", err)
	}
	p.annotations.written.Store(name, text)
	p.log.Info("node remembers its vm", "node", name, "vm", vm.String())
	p.nodes.events.annotation(node, nil)
	return nil
}
