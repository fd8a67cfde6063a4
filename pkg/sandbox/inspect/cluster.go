package inspect

import (
	"context"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// cluster is the API server that is asked for the sake of one explanation. It implements [explain.Cluster].
type cluster struct{ kubernetes.Interface }

// Node implements [explain.Cluster].
func (a cluster) Node(ctx context.Context, name string) (*corev1.Node, error) {
	return found(a.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{}))
}

// Heartbeat implements [explain.Cluster].
func (a cluster) Heartbeat(ctx context.Context, node string) (*coordinationv1.Lease, error) {
	return found(a.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(ctx, node, metav1.GetOptions{}))
}

// found is nil for what is not there.
func found[T any](object *T, err error) (*T, error) {
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return object, nil
}
