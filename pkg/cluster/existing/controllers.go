package existing

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// workload is what may be a cloud controller manager.
type workload struct {
	name string // "daemonset kube-system/cloud-controller-manager"
	pod  corev1.PodSpec
}

// isController tells by a name of a Lease, an image, a program.
func isController(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "cloud-controller") || strings.Contains(name, "cloud-provider-") && !strings.HasPrefix(name, "-")
}

func (w workload) controls() bool {
	return slices.ContainsFunc(w.pod.Containers, func(c corev1.Container) bool {
		return isController(c.Image) || isController(c.Name) || len(c.Command) > 0 && isController(c.Command[0])
	})
}

func (c *Cluster) daemonSets(ctx context.Context) ([]workload, error) {
	list, err := c.client.AppsV1().DaemonSets("").List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, err
	}
	var all []workload
	for _, o := range list.Items {
		all = append(all, workload{"daemonset " + o.Namespace + "/" + o.Name, o.Spec.Template.Spec})
	}
	return all, nil
}

func (c *Cluster) deployments(ctx context.Context) ([]workload, error) {
	list, err := c.client.AppsV1().Deployments("").List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, err
	}
	var all []workload
	for _, o := range list.Items {
		if o.Spec.Replicas == nil || *o.Spec.Replicas > 0 {
			all = append(all, workload{"deployment " + o.Namespace + "/" + o.Name, o.Spec.Template.Spec})
		}
	}
	return all, nil
}

// staticPods are those that kubelets run by themselves, as kubeadm's control plane.
func (c *Cluster) staticPods(ctx context.Context) ([]workload, error) {
	list, err := c.client.CoreV1().Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, err
	}
	var all []workload
	for _, o := range list.Items {
		if _, static := o.Annotations[corev1.MirrorPodAnnotationKey]; static {
			all = append(all, workload{"pod " + o.Namespace + "/" + o.Name, o.Spec})
		}
	}
	return all, nil
}
