package actions

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// OutOfService taints a Node as a user does who knows that its VM is off: its pods are removed and their volumes detached at
// once (KEP-2268).
func (a *Actions) OutOfService(ctx context.Context, r api.OutOfServiceRequest) (api.Done, error) {
	if a.World() == nil {
		return api.Done{}, api.NotBuilt()
	}
	client := a.Kubernetes()
	if client == nil {
		return api.Done{}, api.Conflict("this sandbox has no cluster")
	}
	if a.ReadOnlyNodes() {
		return api.Done{}, &api.Error{
			Code: "unsupported", Message: "the nodes of this cluster are not the sandbox's: it writes to none",
			Try: "vsphere-sandbox kubectl taint node " + r.Node + " node.kubernetes.io/out-of-service=nodeshutdown:NoExecute",
		}
	}
	nodes := client.CoreV1().Nodes()
	outOfService := func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeOutOfService }
	changed := false
	seq := a.Log.Append(event.Event{
		Plane: event.PlaneSandbox, Kind: "command.out-of-service", Object: event.Object{Kind: "Node", Name: r.Node}, Message: "taint out-of-service " + r.Node + removal(r),
	})
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		n, err := nodes.Get(ctx, r.Node, metav1.GetOptions{})
		if err != nil {
			return err
		}
		has := slices.ContainsFunc(n.Spec.Taints, outOfService)
		if changed = has == r.Remove; !changed {
			return nil
		}
		if r.Remove {
			n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, outOfService)
		} else {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeOutOfService, Value: "nodeshutdown", Effect: corev1.TaintEffectNoExecute})
		}
		_, err = nodes.Update(ctx, n, metav1.UpdateOptions{})
		return err
	})
	switch {
	case apierrors.IsNotFound(err):
		return api.Done{}, &api.Error{Code: "not-found", Message: fmt.Sprintf("node %q not found", r.Node), Try: "vsphere-sandbox get nodes"}
	case err != nil:
		return api.Done{}, fmt.Errorf("node %q: %w", r.Node, err)
	}
	message := fmt.Sprintf("node %q is out of service: pods on it are removed within 20s, and their volumes are detached as soon as they are", r.Node)
	switch {
	case r.Remove && changed:
		message = fmt.Sprintf("node %q is in service again", r.Node)
	case r.Remove:
		message = fmt.Sprintf("node %q was in service", r.Node)
	case !changed:
		message = fmt.Sprintf("node %q was out of service already", r.Node)
	}
	return api.Done{Message: message, Seq: seq}, nil
}

// removal is the flag of the command that removes the taint.
func removal(r api.OutOfServiceRequest) string {
	if r.Remove {
		return " --remove"
	}
	return ""
}
