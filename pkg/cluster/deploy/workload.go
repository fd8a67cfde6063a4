package deploy

import (
	"context"
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
)

// isWorkload reports whether an object creates pods.
func isWorkload(o *unstructured.Unstructured) bool {
	return o.GetKind() == "DaemonSet" || o.GetKind() == "Deployment"
}

// clear removes a workload of the same name with another selector: selectors are immutable. It waits for one that is
// already being removed: its controller creates no pods any more.
func (d *Deployment) clear(ctx context.Context, into dynamic.ResourceInterface, o *unstructured.Unstructured) error {
	existing, err := into.Get(ctx, o.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if existing.GetDeletionTimestamp() == nil && reflect.DeepEqual(selects(existing), selects(o)) {
		return nil
	}
	return gone(ctx, into, o.GetName())
}

func selects(o *unstructured.Unstructured) map[string]string {
	labels, _, _ := unstructured.NestedStringMap(o.Object, "spec", "selector", "matchLabels")
	return labels
}

// asDaemonSet and asDeployment edit a workload in its typed form.
func asDaemonSet(o *unstructured.Unstructured, edit func(*appsv1.DaemonSet)) error {
	typed := &appsv1.DaemonSet{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, typed); err != nil {
		return err
	}
	edit(typed)
	return back(o, typed)
}

func asDeployment(o *unstructured.Unstructured, edit func(*appsv1.Deployment)) error {
	typed := &appsv1.Deployment{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, typed); err != nil {
		return err
	}
	edit(typed)
	return back(o, typed)
}

// back writes an edited object back into its unstructured form, without the status.
func back(o *unstructured.Unstructured, typed any) error {
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return err
	}
	delete(raw, "status")
	unstructured.RemoveNestedField(raw, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(raw, "spec", "template", "metadata", "creationTimestamp")
	o.Object = raw
	return nil
}

// podOf returns the pod template of a workload.
func podOf(o *unstructured.Unstructured) (*corev1.PodTemplateSpec, error) {
	raw, _, err := unstructured.NestedMap(o.Object, "spec", "template")
	if err != nil {
		return nil, err
	}
	template := &corev1.PodTemplateSpec{}
	return template, runtime.DefaultUnstructuredConverter.FromUnstructured(raw, template)
}

const controlPlane = "node-role.kubernetes.io/control-plane"

// anywhere removes the affinity to control-plane nodes, for clusters that do not show them.
func anywhere(spec *corev1.PodSpec) { spec.Affinity = nil }

// keep restricts a pod to the node.
func (a *At) keep(spec *corev1.PodSpec, program *corev1.Container) {
	spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{a.Node}}},
		}},
	}}}
	spec.Tolerations = append(spec.Tolerations, a.Tolerations...)
	program.Command = a.Command
}

// showsControlPlane returns the number of control-plane nodes that the cluster shows.
func (d *Deployment) showsControlPlane(ctx context.Context) (nodes int, err error) {
	list, err := d.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: controlPlane})
	if err != nil {
		return 0, err
	}
	return len(list.Items), nil
}

// container returns the container of a name, or nil.
func container(spec *corev1.PodSpec, name string) *corev1.Container {
	i := slices.IndexFunc(spec.Containers, func(c corev1.Container) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &spec.Containers[i]
}
