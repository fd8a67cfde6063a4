package nodetopology

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

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
