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
	// The pauses before a refused patch is tried again.
	firstRetry = 100 * time.Millisecond
	lastRetry  = 5 * time.Minute
	// How long the informer has to show a patch, and the polling interval.
	informerWait = time.Second
	informerPoll = 2 * time.Millisecond
	patchTTL     = time.Minute
)

// annotationWriter writes the VM annotations of Nodes.
type annotationWriter struct {
	queue  atomic.Pointer[workqueue.TypedRateLimitingInterface[string]] // nil before the provider has started
	client kubernetes.Interface                                         // set before queue
	// written holds by Node name the last [pendingPatch] that the informer has not shown yet.
	written sync.Map
}

// pendingPatch is one patch. It counts until shown has passed.
type pendingPatch struct {
	uid  types.UID
	text string
	at   time.Time
}

// pending reports whether the Node has been patched with the text and the informer has not shown it yet.
func (a *annotationWriter) pending(node *corev1.Node, text string) bool {
	w, ok := a.written.Load(node.Name)
	if !ok {
		return false
	}
	last, ok := w.(pendingPatch)
	return ok && last.uid == node.UID && last.text == text && time.Since(last.at) < patchTTL
}

// changed forgets what was written to a Node, since its annotation has changed or it has been deleted.
func (a *annotationWriter) changed(node *corev1.Node) { a.written.Delete(node.Name) }

// annotateFirst writes the annotation of a Node that is about to be initialized with m, before it has a providerID. So a
// process that is killed in between leaves no bound Node without an annotation. If the account may not patch Nodes,
// annotateFirst logs that and returns nil.
func (p *Provider) annotateFirst(ctx context.Context, node *corev1.Node, m *cloudprovider.InstanceMetadata) error {
	if p.annotations.queue.Load() == nil || node.Name == "" || initialized(node) {
		return nil
	}
	text, vm, due := p.now().instances().annotationDue(node)
	if !due || match.ProviderID(vm.UUID) != m.ProviderID {
		return nil
	}
	switch err := p.patchAnnotation(ctx, node, text, vm); {
	case err == nil:
		p.nodes.awaitAnnotation(ctx, node.Name, text)
	case apierrors.IsNotFound(err): // no Node to initialize
	case apierrors.IsForbidden(err):
		p.log.Warn("cannot write node annotation", "node", node.Name, "err", err)
	default:
		return fmt.Errorf("node %q: annotation %s: %w", node.Name, VMAnnotation, err)
	}
	return nil
}

// awaitAnnotation waits until the informer shows the annotation, at most for listed. The stock controller updates the Node
// from its lister: an older one would cause a conflict, and a pause before the next attempt.
func (k *nodes) awaitAnnotation(ctx context.Context, name, text string) {
	if k.lister.Load() == nil {
		return
	}
	_ = wait.PollUntilContextTimeout(ctx, informerPoll, informerWait, true, func(context.Context) (bool, error) {
		node := k.known(name)
		return node == nil || node.Annotations[VMAnnotation] == text, nil
	})
}

// enqueueAnnotation queues the Node if it has a providerID and its annotation is out of date. It reads the index, makes no call to a
// vCenter and does not block. Without informers it does nothing.
func (p *Provider) enqueueAnnotation(node *corev1.Node) {
	queue := p.annotations.queue.Load()
	if queue == nil || node.Name == "" || node.Spec.ProviderID == "" {
		return
	}
	if _, _, due := p.now().instances().annotationDue(node); due {
		(*queue).Add(node.Name)
	}
}

// runAnnotations writes the annotations of queued Nodes until ctx ends, one at a time.
func (p *Provider) runAnnotations(ctx context.Context, client kubernetes.Interface) {
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
				p.log.Warn("cannot write node annotation", "node", name, "err", err)
				queue.AddRateLimited(name)
			}
			queue.Done(name)
		}
	})
}

// writeAnnotation brings the annotation of the Node with this name up to date.
func (p *Provider) writeAnnotation(ctx context.Context, name string) error {
	node := p.nodes.known(name)
	if node == nil || node.Spec.ProviderID == "" {
		return nil
	}
	text, vm, due := p.now().instances().annotationDue(node)
	if !due || p.annotations.pending(node, text) {
		return nil
	}
	if _, err := recordOf(node); err != nil && !errors.Is(err, errNoRecord) {
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

// patchAnnotation writes the annotation in one patch, which applies only to the Node with this UID.
func (p *Provider) patchAnnotation(ctx context.Context, node *corev1.Node, text string, vm *inventory.VM) error {
	metadata := map[string]any{"annotations": map[string]string{VMAnnotation: text}}
	if node.UID != "" {
		metadata["uid"] = node.UID
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return err
	}
	// A conflict means that another Node has the name now.
	if _, err := p.annotations.client.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return err
	}
	p.annotations.written.Store(node.Name, pendingPatch{node.UID, text, time.Now()})
	p.log.Info("node annotated with its vm", "node", node.Name, "vm", vm.String())
	return nil
}
