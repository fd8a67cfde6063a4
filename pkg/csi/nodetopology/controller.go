package nodetopology

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// Controller answers CSINodeTopology objects and keeps the answers up to date. Create it with [New] and run it with
// [Controller.Run]. Several in one cluster do no harm, because they write the same answers.
type Controller struct {
	cfg   Config
	queue workqueue.TypedRateLimitingInterface[string]
	store cache.Store // of objects; set by Run

	mu      sync.Mutex
	missing map[string]time.Time // since when a node has lost its topology
}

// New returns a controller that has not started.
func New(cfg Config) *Controller {
	cfg = cfg.withDefaults()
	return &Controller{
		cfg:     cfg,
		queue:   workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](cfg.RetryMin, cfg.RetryMax)),
		missing: map[string]time.Time{},
	}
}

// Run answers objects until ctx ends, and returns nil. It must be called once. If the API server does not have the kind, Run
// waits for it.
func (c *Controller) Run(ctx context.Context) error {
	informer := dynamicinformer.NewFilteredDynamicInformer(c.cfg.Dynamic, Resource(), "", 0, cache.Indexers{}, nil).Informer()
	c.store = informer.GetStore()
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    c.enqueue,
		UpdateFunc: func(_, obj any) { c.enqueue(obj) },
		DeleteFunc: c.enqueue,
	}); err != nil {
		return err
	}
	// All objects are synced after any change: that only reads memory, and an object may be for a VM that is no node yet.
	defer c.cfg.Topology.Listen(func([]string) {
		for _, name := range c.store.ListKeys() {
			c.queue.Add(name)
		}
	})()
	if c.cfg.Labels != nil {
		defer c.cfg.Labels.ListenNode(func(node string) { c.queue.Add(node) })()
	}
	var all sync.WaitGroup
	defer all.Wait()
	defer c.queue.ShutDown()
	all.Go(func() { informer.RunWithContext(ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil
	}
	for range c.cfg.Workers {
		all.Go(func() {
			for c.next(ctx) {
			}
		})
	}
	<-ctx.Done()
	return nil
}

func (c *Controller) enqueue(obj any) {
	if name, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil {
		c.queue.Add(name)
	}
}

// next syncs one object; false after the queue has been shut down.
func (c *Controller) next(ctx context.Context) bool {
	name, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(name)
	if ctx.Err() != nil {
		return true
	}
	again, err := c.sync(ctx, name)
	switch {
	case err != nil && ctx.Err() == nil:
		level := c.cfg.Logger.Warn
		if errors.Is(err, errRetry) {
			level = c.cfg.Logger.Debug
		}
		level("cannot determine node topology", "node", name, "err", err)
		c.queue.AddRateLimited(name)
	case again > 0:
		c.queue.AddAfter(name, again)
	default:
		c.queue.Forget(name)
	}
	return true
}

// get returns the cached object of a node, or nil.
func (c *Controller) get(name string) (*Object, error) {
	obj, ok, err := c.store.GetByKey(name)
	if err != nil || !ok {
		return nil, err
	}
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil, nil
	}
	return parse(u)
}

// The reasons of Events.
const (
	ReasonSucceeded    = "TopologyRetrievalSucceeded" // upstream's
	ReasonFailed       = "TopologyRetrievalFailed"    // upstream's
	ReasonChanged      = "TopologyChanged"
	ReasonLabelChanged = "TopologyLabelChanged"
)

// errRetry reports that the object must be synced again, without a warning.
var errRetry = errors.New("no answer yet")

// sync brings one object and the labels of its node up to date. If again is not zero, it must be called again after that time,
// and with back-off after an error.
func (c *Controller) sync(ctx context.Context, name string) (again time.Duration, err error) {
	o, err := c.get(name)
	if err != nil {
		return 0, err
	}
	if o == nil {
		c.clearMissing(name)
		return 0, nil
	}
	if o.Spec.NodeUUID == "" { // upstream's older drivers set it later
		return 0, nil
	}
	segment, err := c.cfg.Topology.Segment(ctx, o.Spec.NodeID, o.Spec.NodeUUID)
	if err == nil {
		c.clearMissing(name)
		// Labels first: a kubelet that gets another value than its node has refuses the registration.
		if err := c.label(ctx, o.Spec.NodeID, segment); err != nil {
			return 0, err
		}
		return 0, c.answer(ctx, o, succeeded(segment))
	}
	unavailable := errors.Is(err, volume.ErrUnavailable)
	if unavailable && o.Status.Status == Success {
		return 0, fmt.Errorf("%w: %w", errRetry, err) // keep the last known topology
	}
	if unavailable && o.Status.Status == "" || o.Status.Status == Success {
		if left := c.cfg.Grace - time.Since(c.missingSince(name)); left > 0 {
			return left, nil
		}
	}
	if answerErr := c.answer(ctx, o, Status{Status: Error, ErrorMessage: err.Error()}); answerErr != nil {
		return 0, answerErr
	}
	return 0, fmt.Errorf("%w: %w", errRetry, err)
}

// missingSince returns since when a node has no topology.
func (c *Controller) missingSince(name string) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.missing[name]; !ok {
		c.missing[name] = time.Now()
	}
	return c.missing[name]
}

func (c *Controller) clearMissing(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.missing, name)
}

// answer writes a status unless the object has it. The write fails if the object has been replaced, or its spec has changed.
func (c *Controller) answer(ctx context.Context, o *Object, s Status) error {
	if o.Status.same(s) {
		return nil
	}
	before := o.Status
	fresh := *o
	fresh.Status = s
	u, err := fresh.unstructured()
	if err != nil {
		return err
	}
	if _, err := c.cfg.Dynamic.Resource(Resource()).Update(ctx, u, metav1.UpdateOptions{}); err != nil {
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			return fmt.Errorf("%w: %w", errRetry, err)
		}
		return err
	}
	reason, kind, text := ReasonSucceeded, corev1.EventTypeNormal, "topology is "+describe(s)
	switch {
	case s.Status == Error:
		reason, kind, text = ReasonFailed, corev1.EventTypeWarning, s.ErrorMessage
	case before.Status == Success:
		reason, text = ReasonChanged, "topology changed from "+describe(before)+" to "+describe(s)
	}
	c.cfg.Logger.Info("node topology answered", "node", o.Spec.NodeID, "reason", reason, "message", text)
	if c.cfg.Events != nil {
		c.cfg.Events.Event(u, kind, reason, text)
	}
	return nil
}

// label updates the topology labels that a node has. The kubelet sets them when it registers, and never changes a value. Labels
// in other domains belong to the cloud controller manager.
func (c *Controller) label(ctx context.Context, node string, segment volume.Segment) error {
	if c.cfg.Client == nil || c.cfg.Labels == nil {
		return nil
	}
	has, ok := c.cfg.Labels.Labels(node)
	if !ok {
		return nil
	}
	fresh := map[string]string{}
	var text []string
	for key, value := range segment {
		if old, ok := has[key]; ok && old != value && strings.HasPrefix(key, names.TopologyPrefix) {
			fresh[key] = value
			text = append(text, fmt.Sprintf("%s changed from %q to %q", key, old, value))
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": fresh}})
	if err != nil {
		return err
	}
	patched, err := c.cfg.Client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("labels of node: %w", err)
	}
	c.cfg.Logger.Info("node topology labels updated", "node", node, "labels", fresh)
	if c.cfg.Events != nil {
		c.cfg.Events.Event(patched, corev1.EventTypeNormal, ReasonLabelChanged, strings.Join(text, "; "))
	}
	return nil
}

// describe returns the topology of a status for messages.
func describe(s Status) string {
	if len(s.TopologyLabels) == 0 {
		return "empty"
	}
	parts := make([]string, 0, len(s.TopologyLabels))
	for _, l := range s.TopologyLabels {
		parts = append(parts, strings.TrimPrefix(l.Key, names.TopologyPrefix)+"="+l.Value)
	}
	return strings.Join(parts, ", ")
}

// requestTimeout is how long [Request] waits at most: as upstream, and less than the kubelet's 2 min for NodeGetInfo.
const requestTimeout = time.Minute

// requestRetry is the pause after a failed API call.
const requestRetry = 200 * time.Millisecond

// fieldManager is the field manager of the objects.
const fieldManager = "vsphere-csi-node"

// ErrNoAnswer reports that a node's topology was not available in time. The reason, if known, is joined to it.
var ErrNoAnswer = errors.New("topology is not known")

// Request requests the topology of the node's VM, which has the given BIOS UUID, and waits for the answer until ctx ends, at most
// a minute. An existing answer counts. After an error in the answer it continues to wait, because the cause may be fixed at any
// time, and returns the error in the end. It creates or updates the object as needed, owned by node, which may be nil. It may
// be called repeatedly, and needs get, create, patch and watch on csinodetopologies.
func Request(ctx context.Context, client dynamic.Interface, nodeName, uuid string, node *corev1.Node) (volume.Segment, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	r := &request{client: client.Resource(Resource()), want: Object{
		ObjectMeta: metav1.ObjectMeta{Name: nodeName}, Spec: Spec{NodeID: nodeName, NodeUUID: uuid},
	}}
	if node != nil {
		r.want.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}}
	}
	for {
		segment, err := r.once(ctx)
		if err == nil {
			return segment, nil
		}
		if ctx.Err() == nil {
			r.callErr = err
			t := time.NewTimer(requestRetry)
			select {
			case <-t.C:
				continue
			case <-ctx.Done():
				t.Stop()
			}
		}
		return nil, fmt.Errorf("node %q: %w: %w (%w)", nodeName, ErrNoAnswer, r.reason(), ctx.Err())
	}
}

type request struct {
	client    dynamic.ResourceInterface
	want      Object
	answerErr error // of the last answer
	callErr   error // of the last failed call
}

// reason returns the most specific reason for not having an answer.
func (r *request) reason() error {
	switch {
	case r.answerErr != nil:
		return r.answerErr
	case r.callErr != nil:
		return r.callErr
	}
	return errors.New("no answer: check that the driver's controller is running")
}

// once updates the object and waits for its answer until the watch ends.
func (r *request) once(ctx context.Context) (volume.Segment, error) {
	o, err := r.ensure(ctx)
	if err != nil {
		return nil, err
	}
	if segment, ok := r.answer(o); ok {
		return segment, nil
	}
	w, err := r.client.Watch(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("metadata.name", o.Name).String(), ResourceVersion: o.ResourceVersion,
	})
	if err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	defer w.Stop()
	for {
		select {
		case event, open := <-w.ResultChan():
			if !open {
				return nil, errors.New("watch ended")
			}
			u, ok := event.Object.(*unstructured.Unstructured)
			if !ok {
				return nil, fmt.Errorf("watch: %w", apierrors.FromObject(event.Object))
			}
			if u.GetName() != o.Name {
				continue
			}
			fresh, err := parse(u)
			if err != nil {
				return nil, err
			}
			if fresh.UID != o.UID || fresh.Spec != r.want.Spec || event.Type == "DELETED" {
				return nil, errors.New("object was changed by another client")
			}
			if segment, ok := r.answer(fresh); ok {
				return segment, nil
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// answer returns the topology of the object, and records its error.
func (r *request) answer(o *Object) (volume.Segment, bool) {
	switch o.Status.Status {
	case Success:
		return o.Status.Segment(), true
	case Error:
		r.answerErr = errors.New(o.Status.ErrorMessage)
	}
	return nil, false
}

// ensure creates or updates the object. If the spec changes, the old answer is deleted.
func (r *request) ensure(ctx context.Context) (*Object, error) {
	u, err := r.client.Get(ctx, r.want.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		fresh, err := r.want.unstructured()
		if err != nil {
			return nil, err
		}
		// Apply instead of create: for two seconds after a kind has been defined, the API server delays creations of it by two seconds.
		u, err = r.client.Apply(ctx, r.want.Name, fresh, metav1.ApplyOptions{FieldManager: fieldManager})
		if apierrors.IsNotFound(err) { // client-go's fake does not create with Apply
			u, err = r.client.Create(ctx, fresh, metav1.CreateOptions{})
		}
		if err != nil {
			return nil, fmt.Errorf("create: %w", err)
		}
		return parse(u)
	case err != nil:
		return nil, fmt.Errorf("get: %w", err)
	}
	o, err := parse(u)
	if err != nil {
		return nil, err
	}
	patch := map[string]any{}
	if o.Spec != r.want.Spec {
		patch["spec"], patch["status"] = r.want.Spec, nil
	}
	if len(r.want.OwnerReferences) > 0 && (len(o.OwnerReferences) != 1 || o.OwnerReferences[0].UID != r.want.OwnerReferences[0].UID) {
		// The Node may have been deleted and created again: with the old owner, the object would be garbage-collected. A VM that
		// was replaced under its name may also be in another place.
		patch["metadata"] = map[string]any{"ownerReferences": r.want.OwnerReferences}
		patch["status"] = nil
	}
	if len(patch) == 0 {
		return o, nil
	}
	data, err := json.Marshal(patch)
	if err != nil {
		return nil, err
	}
	if u, err = r.client.Patch(ctx, o.Name, types.MergePatchType, data, metav1.PatchOptions{}); err != nil {
		return nil, fmt.Errorf("patch: %w", err)
	}
	return parse(u)
}
