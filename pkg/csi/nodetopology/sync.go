package nodetopology

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// Reasons of events.
const (
	ReasonSucceeded    = "TopologyRetrievalSucceeded" // upstream's
	ReasonFailed       = "TopologyRetrievalFailed"    // upstream's
	ReasonChanged      = "TopologyChanged"
	ReasonLabelChanged = "TopologyLabelChanged"
)

// errLater says that an answer is to be looked for again, and that this is nothing to be told.
var errLater = errors.New("no answer yet")

// sync makes one object, and the labels of its node, true. It is looked at again after a while when that is not zero, and
// with back-off after an error.
func (c *Controller) sync(ctx context.Context, name string) (again time.Duration, err error) {
	o, err := c.get(name)
	if err != nil {
		return 0, err
	}
	if o == nil {
		c.found(name)
		return 0, nil
	}
	if o.Spec.NodeUUID == "" { // upstream's older drivers fill it in later
		return 0, nil
	}
	segment, err := c.cfg.Topology.Segment(ctx, o.Spec.NodeID, o.Spec.NodeUUID)
	if err == nil {
		c.found(name)
		// Labels first: the kubelet that is told of another value than its node has refuses the registration.
		if err := c.label(ctx, o.Spec.NodeID, segment); err != nil {
			return 0, err
		}
		return 0, c.answer(ctx, o, succeeded(segment))
	}
	unavailable := errors.Is(err, volume.ErrUnavailable)
	if unavailable && o.Status.Status == Success {
		return 0, fmt.Errorf("%w: %w", errLater, err) // what was true is the best that there is
	}
	if unavailable && o.Status.Status == "" || o.Status.Status == Success {
		if left := c.cfg.Grace - time.Since(c.lost(name)); left > 0 {
			return left, nil
		}
	}
	if answerErr := c.answer(ctx, o, Status{Status: Error, ErrorMessage: err.Error()}); answerErr != nil {
		return 0, answerErr
	}
	return 0, fmt.Errorf("%w: %w", errLater, err)
}

// lost returns since when there is no answer for a node.
func (c *Controller) lost(name string) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.missing[name]; !ok {
		c.missing[name] = time.Now()
	}
	return c.missing[name]
}

func (c *Controller) found(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.missing, name)
}

// answer writes a status unless the object has it. The object it was made for is the one that it is written to: another
// one, or a question that has changed meanwhile, makes the write fail.
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
			return fmt.Errorf("%w: %w", errLater, err)
		}
		return err
	}
	reason, kind, text := ReasonSucceeded, corev1.EventTypeNormal, "topology is "+describe(s)
	switch {
	case s.Status == Error:
		reason, kind, text = ReasonFailed, corev1.EventTypeWarning, s.ErrorMessage
	case before.Status == Success:
		reason, text = ReasonChanged, "topology was "+describe(before)+", is "+describe(s)
	}
	c.cfg.Logger.Info("node topology answered", "node", o.Spec.NodeID, "reason", reason, "message", text)
	if c.cfg.Events != nil {
		c.cfg.Events.Event(u, kind, reason, text)
	}
	return nil
}

// label makes those topology labels of a node true that it has: the kubelet sets them at its registration, and never
// changes a value. Labels of other domains are the cloud controller manager's.
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
			text = append(text, fmt.Sprintf("%s was %q, is %q", key, old, value))
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
	c.cfg.Logger.Info("node topology labels", "node", node, "labels", fresh)
	if c.cfg.Events != nil {
		c.cfg.Events.Event(patched, corev1.EventTypeNormal, ReasonLabelChanged, strings.Join(text, "; "))
	}
	return nil
}

// describe is the topology that a status tells.
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

// requestTimeout is how long [Request] waits when ctx allows more: upstream's, and less than the 2 min that a kubelet
// gives NodeGetInfo.
const requestTimeout = time.Minute

// requestRetry is the pause after a call to the API server that failed.
const requestRetry = 200 * time.Millisecond

// fieldManager is whose the objects' fields are.
const fieldManager = "vsphere-csi-node"

// ErrNoAnswer says that a node's topology was not told in time. It is joined with the reason, if one was told.
var ErrNoAnswer = errors.New("topology is not known")

// Request asks for the topology of the node's VM, which has the given BIOS UUID, and waits for the answer: until ctx ends,
// but no longer than a minute. An answer that is there already counts; one that is an error is waited past, since what is
// wrong may be put right at any moment, and is in the error in the end. The object is created or put right as needed, and
// owned by node, which may be nil. It may be called again and again, and needs the rights to get, create, patch and watch
// csinodetopologies.
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
			r.failed = err
			t := time.NewTimer(requestRetry)
			select {
			case <-t.C:
				continue
			case <-ctx.Done():
				t.Stop()
			}
		}
		return nil, fmt.Errorf("node %q: %w: %w (%w)", nodeName, ErrNoAnswer, r.why(), ctx.Err())
	}
}

type request struct {
	client dynamic.ResourceInterface
	want   Object
	told   error // what the last answer complained about
	failed error // the last call that failed
}

// why is the best reason that there is for not having an answer.
func (r *request) why() error {
	switch {
	case r.told != nil:
		return r.told
	case r.failed != nil:
		return r.failed
	}
	return errors.New("nobody answered: is the driver's controller running?")
}

// once puts the object right and waits for its answer while the watch lives.
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
				return nil, errors.New("object was changed by somebody else")
			}
			if segment, ok := r.answer(fresh); ok {
				return segment, nil
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// answer returns what the object says, and remembers what it complains about.
func (r *request) answer(o *Object) (volume.Segment, bool) {
	switch o.Status.Status {
	case Success:
		return o.Status.Segment(), true
	case Error:
		r.told = errors.New(o.Status.ErrorMessage)
	}
	return nil, false
}

// ensure makes the object what it has to be. Where the question is another one, the answer to the old one goes.
func (r *request) ensure(ctx context.Context) (*Object, error) {
	u, err := r.client.Get(ctx, r.want.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		fresh, err := r.want.unstructured()
		if err != nil {
			return nil, err
		}
		// Applied, not created: for two seconds after a kind was defined the API server lets creations of it wait two seconds.
		u, err = r.client.Apply(ctx, r.want.Name, fresh, metav1.ApplyOptions{FieldManager: fieldManager})
		if apierrors.IsNotFound(err) { // one that makes nothing by that, as client-go's fake is
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
		// The Node may have been deleted and made again: with the old owner the object would be collected. A machine that
		// was replaced under its name may have another place, too.
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
