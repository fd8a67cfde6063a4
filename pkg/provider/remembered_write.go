package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/workqueue"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
)

const (
	// The pauses before a patch is tried again that the API server has refused.
	firstRetry = 100 * time.Millisecond
	lastRetry  = 5 * time.Minute
	// How long the informer is given to show a patch, and how often it is looked at.
	listed     = time.Second
	listedPoll = 2 * time.Millisecond
	shown      = time.Minute
)

// annotations are the Nodes whose annotation may have to be written.
type annotations struct {
	queue  atomic.Pointer[workqueue.TypedRateLimitingInterface[string]] // nil before the provider has started
	client kubernetes.Interface                                         // set before queue
	// written is the last [writing] to the Node of a name that the informer has not shown yet.
	written sync.Map
}

// writing is one patch. It counts for as long as an informer may take to show it.
type writing struct {
	uid  types.UID
	text string
	at   time.Time
}

// pending reports whether the Node has been given the text, and the informer has yet to show it.
func (a *annotations) pending(node *corev1.Node, text string) bool {
	w, ok := a.written.Load(node.Name)
	if !ok {
		return false
	}
	last, ok := w.(writing)
	return ok && last.uid == node.UID && last.text == text && time.Since(last.at) < shown
}

// changed forgets what was written to a Node: its annotation has changed since, or it has been deleted.
func (a *annotations) changed(node *corev1.Node) { a.written.Delete(node.Name) }

// rememberFirst writes the annotation of a Node that is about to be initialized as m says, before it has a providerID:
// a process that is killed in between leaves no Node that is bound and remembers nothing. An account that may not patch
// Nodes initializes them all the same.
func (p *Provider) rememberFirst(ctx context.Context, node *corev1.Node, m *cloudprovider.InstanceMetadata) error {
	if p.annotations.queue.Load() == nil || node.Name == "" || initialized(node) {
		return nil
	}
	text, vm, due := p.now().instances().due(node)
	if !due || match.ProviderID(vm.UUID) != m.ProviderID {
		return nil
	}
	switch err := p.patchAnnotation(ctx, node, text, vm); {
	case err == nil:
		p.nodes.awaitAnnotation(ctx, node.Name, text)
	case apierrors.IsNotFound(err): // nothing is initialized
	case apierrors.IsForbidden(err):
		p.log.Warn("node annotation", "node", node.Name, "err", err)
	default:
		return fmt.Errorf("node %q: annotation %s: %w", node.Name, VMAnnotation, err)
	}
	return nil
}

// awaitAnnotation waits until the informer shows the annotation, for at most listed. The stock controller updates the Node
// that its lister has: one of before the patch would be a conflict, and a pause before the next attempt.
func (k *nodes) awaitAnnotation(ctx context.Context, name, text string) {
	if k.lister.Load() == nil {
		return
	}
	_ = wait.PollUntilContextTimeout(ctx, listedPoll, listed, true, func(context.Context) (bool, error) {
		node := k.known(name)
		return node == nil || node.Annotations[VMAnnotation] == text, nil
	})
}

// remember has the annotation of a Node with a providerID written when it is not what it must be. It looks at the index,
// makes no call to a vCenter, and does not wait. Without informers it does nothing.
func (p *Provider) remember(node *corev1.Node) {
	queue := p.annotations.queue.Load()
	if queue == nil || node.Name == "" || node.Spec.ProviderID == "" {
		return
	}
	if _, _, due := p.now().instances().due(node); due {
		(*queue).Add(node.Name)
	}
}

// annotate writes the annotations of Nodes until ctx ends, one after the other.
func (p *Provider) annotate(ctx context.Context, client kubernetes.Interface) {
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](firstRetry, lastRetry))
	p.annotations.client = client
	p.annotations.queue.Store(&queue)
	p.running.Go(func() {
		defer context.AfterFunc(ctx, queue.ShutDown)()
		for {
			name, ended := queue.Get()
			if ended {
				return
			}
			err := p.writeAnnotation(ctx, name)
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

// writeAnnotation makes the annotation of the Node of that name what it must be.
func (p *Provider) writeAnnotation(ctx context.Context, name string) error {
	node := p.nodes.known(name)
	if node == nil || node.Spec.ProviderID == "" {
		return nil
	}
	text, vm, due := p.now().instances().due(node)
	if !due || p.annotations.pending(node, text) {
		return nil
	}
	if _, err := rememberedBy(node); err != nil && !errors.Is(err, errNotRemembered) {
		p.nodes.events.annotation(node, err)
	}
	err := p.patchAnnotation(ctx, node, text, vm)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil {
		p.nodes.events.annotation(node, nil)
	}
	return err
}

// patchAnnotation writes the annotation in one patch, which applies to the Node of this UID alone and changes nothing else.
func (p *Provider) patchAnnotation(ctx context.Context, node *corev1.Node, text string, vm *inventory.VM) error {
	metadata := map[string]any{"annotations": map[string]string{VMAnnotation: text}}
	if node.UID != "" {
		metadata["uid"] = node.UID
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return err
	}
	// A conflict says that another Node has the name by now.
	if _, err := p.annotations.client.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return err
	}
	p.annotations.written.Store(node.Name, writing{node.UID, text, time.Now()})
	p.log.Info("node remembers its vm", "node", node.Name, "vm", vm.String())
	return nil
}
