package light

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node/light/feed"
)

// register does what a kubelet does when it starts: it creates the Node or, where there is one of the name already, brings
// its labels and status in line. Taints it leaves alone then. existed tells which it was. A Node that is somebody else's it
// does not touch: [errOthers].
func (f *fleet) register(ctx context.Context, m feed.Machine) (n *corev1.Node, existed bool, err error) {
	api := f.client.CoreV1().Nodes()
	n, err = api.Create(ctx, f.maker.object(m, time.Now()), metav1.CreateOptions{})
	if err == nil || !apierrors.IsAlreadyExists(err) {
		return n, false, err
	}
	n, err = f.post(ctx, m)
	return n, true, err
}

// post writes the status of a Node that there is, as a kubelet does that has something new to say of it. A kubelet owns the
// name; in a cluster that others use, a Node without the labels of ours belongs to a machine of theirs.
func (f *fleet) post(ctx context.Context, m feed.Machine) (*corev1.Node, error) {
	was, err := f.client.CoreV1().Nodes().Get(ctx, m.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if f.maker.others(was) {
		return nil, errOthers
	}
	now := time.Now()
	is, own := was.DeepCopy(), f.maker.object(m, now)
	if is.Labels == nil {
		is.Labels = map[string]string{}
	}
	if is.Annotations == nil {
		is.Annotations = map[string]string{}
	}
	maps.Copy(is.Labels, own.Labels)
	maps.Copy(is.Annotations, own.Annotations)
	f.maker.status(is, m, now)
	patch, err := statusPatch(was, is)
	if err != nil {
		return nil, fmt.Errorf("node %q: %w", m.Name, err)
	}
	return f.client.CoreV1().Nodes().Patch(ctx, m.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
}

// statusPatch is what makes is of was, but for its spec, which is not a kubelet's to change.
func statusPatch(was, is *corev1.Node) ([]byte, error) {
	is.Spec = was.Spec
	before, err := json.Marshal(was)
	if err != nil {
		return nil, err
	}
	after, err := json.Marshal(is)
	if err != nil {
		return nil, err
	}
	return strategicpatch.CreateTwoWayMergePatch(before, after, corev1.Node{})
}

// beat says once more that a node is well, as a kubelet does from time to time.
func (f *fleet) beat(ctx context.Context, name string) error {
	type condition struct {
		Type              corev1.NodeConditionType `json:"type"`
		LastHeartbeatTime metav1.Time              `json:"lastHeartbeatTime"`
	}
	var patch struct {
		Status struct {
			Conditions []condition `json:"conditions"`
		} `json:"status"`
	}
	now := metav1.NewTime(time.Now().Truncate(time.Second))
	for _, c := range healthy() {
		patch.Status.Conditions = append(patch.Status.Conditions, condition{c.Type, now})
	}
	b, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = f.client.CoreV1().Nodes().Patch(ctx, name, types.StrategicMergePatchType, b, metav1.PatchOptions{}, "status")
	return err
}
