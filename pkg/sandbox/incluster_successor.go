package sandbox

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// succeeded tells whether another pod will do what this one does: it was evicted, say, or deleted by hand, and its Deployment
// goes on. When that cannot be told it is not: what is taken away too much is made again, what is left nobody takes away.
func (p *podCluster) succeeded(ctx context.Context) bool {
	list, err := p.cluster.Client().AppsV1().Deployments(p.s.opts.Cluster.Pod.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: "app.kubernetes.io/component=sandbox",
	})
	return err == nil && goesOn(list.Items)
}

// goesOn tells whether any of these is to have pods.
func goesOn(all []appsv1.Deployment) bool {
	for _, d := range all {
		if d.DeletionTimestamp == nil && (d.Spec.Replicas == nil || *d.Spec.Replicas > 0) {
			return true
		}
	}
	return false
}
