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

// VMAnnotation is the annotation on a Node that records the VM from which the Node was initialized: the vCenter's instance
// UUID and the VM's managed object reference, as JSON. After a restart, the provider reads it from there.
//
// It never identifies a VM and never confirms that one is gone. It can only hold a deletion back: see
// [instances.recordedVMGone].
const VMAnnotation = "sandbox.vsphere/vm"

// maxRecordSize is the longest annotation that is read, in bytes.
const maxRecordSize = 1024

// vmRecord is the content of the annotation. Unknown fields are ignored.
type vmRecord struct {
	// UUID is the BIOS UUID in the Node's providerID. If it differs, the annotation was copied from another Node and is ignored.
	UUID string `json:"uuid"`
	// VCenter is the instance UUID of the vCenter, and VM the value of the VM's reference there.
	VCenter string `json:"vcenter"`
	VM      string `json:"vm"`
	// Server is the vCenter's address in vsphere.conf at the time of writing. It is informational.
	Server string `json:"server,omitempty"`
}

var errNoRecord = errors.New("the node has no such annotation")

// recordOf returns a Node's annotation. The error is [errNoRecord] if the Node has none; any other error explains
// why the annotation is ignored.
func recordOf(node *corev1.Node) (vmRecord, error) {
	r, err := parseRecord(node)
	if err != nil {
		return vmRecord{}, err
	}
	bound, err := match.ParseProviderID(node.Spec.ProviderID)
	if err != nil {
		return vmRecord{}, err
	}
	if !r.isOf(bound) {
		return vmRecord{}, fmt.Errorf("its uuid %q is not that of the node's providerID %s", r.UUID, node.Spec.ProviderID)
	}
	return r, nil
}

// parseRecord is rememberedBy without the check of the UUID.
func parseRecord(node *corev1.Node) (vmRecord, error) {
	text, ok := node.Annotations[VMAnnotation]
	if !ok {
		return vmRecord{}, errNoRecord
	}
	if len(text) > maxRecordSize {
		return vmRecord{}, fmt.Errorf("it is longer than %d bytes", maxRecordSize)
	}
	var r vmRecord
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return vmRecord{}, fmt.Errorf("it is not what this provider writes: %w", err)
	}
	if r.VCenter == "" || r.VM == "" {
		return vmRecord{}, errors.New("it names no vcenter, or no vm")
	}
	return r, nil
}

func (r vmRecord) isOf(vm match.UUID) bool {
	u, err := match.ParseUUID(r.UUID)
	return err == nil && u.Equal(vm)
}

func (r vmRecord) location() inventory.Location {
	return inventory.Location{VCenter: r.VCenter, VM: r.VM}
}

func (r vmRecord) String() string {
	if r.Server == "" {
		return fmt.Sprintf("%q in the vcenter of instance uuid %q", r.VM, r.VCenter)
	}
	return fmt.Sprintf("%q in vcenter %q, instance uuid %q", r.VM, r.Server, r.VCenter)
}

// recordedVMGone checks the VM in the Node's annotation before the Node is deleted. It returns nil if the annotation's
// vCenter is configured and confirms that it no longer has that reference, or if there is no usable annotation.
func (i instances) recordedVMGone(ctx context.Context, node *corev1.Node, u match.UUID) error {
	if i.choices.noAnnotation {
		return nil
	}
	r, err := recordOf(node)
	if err != nil {
		return nil // Provider reports an unreadable annotation
	}
	return wrap(i.inv.ConfirmRemoved(ctx, r.location(), u), "the node was initialized from vm "+r.String())
}

// annotationDue returns the content that the Node's annotation must get, with its VM. It returns false if there is nothing to write:
// the VM is unknown at the moment, or the annotation is up to date.
func (i instances) annotationDue(node *corev1.Node) (string, *inventory.VM, bool) {
	if i.choices.noAnnotation {
		return "", nil, false
	}
	vm, err := i.match(node)
	if err != nil || vm.UUID == (match.UUID{}) {
		return "", nil, false
	}
	at, err := i.inv.Locate(vm)
	if err != nil {
		return "", nil, false
	}
	if r, err := parseRecord(node); err == nil && r.location() == at && r.isOf(vm.UUID) {
		return "", nil, false
	}
	r := vmRecord{UUID: vm.UUID.String(), VCenter: at.VCenter, VM: at.VM}
	for _, vc := range i.cfg.VCenters {
		if vc.Tenant == vm.VCenter {
			r.Server = vc.Server
		}
	}
	text, err := json.Marshal(r)
	if err != nil {
		return "", nil, false // impossible: only strings
	}
	return string(text), vm, true
}

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
