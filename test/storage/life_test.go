package storage

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

const namespace = metav1.NamespaceDefault

// life is what one round creates: a StatefulSet with a claim for each pod, a snapshot of one claim, and a restored claim
// with a separate pod.
type life struct {
	*world
	id      string
	claims  int
	grown   []string // claims that are expanded
	restore bool
}

// labels are those of the pods.
func (l *life) labels() map[string]string { return map[string]string{"life": l.id} }

func (l *life) claim(n int) string { return fmt.Sprintf("data-%s-%d", l.id, n) }

func (l *life) restored() string { return l.id + "-restored" }

// taken is the claim that the snapshot is of; it is not expanded, which a volume with snapshots cannot be.
func (l *life) taken() string { return l.claim(l.claims - 1) }

func (l *life) snapshots() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "snapshot.storage.k8s.io", Version: "v1", Resource: "volumesnapshots"}
}

func size(gib int) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(fmt.Sprintf("%dGi", gib))}
}

// pods is the template of pods that have a volume "data".
func (l *life) pods() corev1.PodTemplateSpec {
	var grace int64 = 1
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: l.labels()},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: &grace,
			Containers: []corev1.Container{{
				Name: "c", Image: "registry.k8s.io/pause:3.10", VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
			}},
		},
	}
}

func ask() corev1.PersistentVolumeClaimSpec {
	return corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: size(1)},
	}
}

// provision makes pods and claims.
func (l *life) provision() {
	l.do("create statefulset", func(ctx context.Context) error {
		replicas := int32(l.claims)
		_, err := l.client.AppsV1().StatefulSets(namespace).Create(ctx, &appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Name: l.id},
			Spec: appsv1.StatefulSetSpec{
				Replicas: &replicas, PodManagementPolicy: appsv1.ParallelPodManagement,
				Selector: &metav1.LabelSelector{MatchLabels: l.labels()}, Template: l.pods(),
				VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: ask()}},
			},
		}, metav1.CreateOptions{})
		return err
	})
}

// scale takes pods away, or brings them back: their volumes are detached and attached.
func (l *life) scale(pods int) {
	l.do(fmt.Sprintf("scale to %d", pods), func(ctx context.Context) error {
		_, err := l.client.AppsV1().StatefulSets(namespace).Patch(ctx, l.id, types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, pods), metav1.PatchOptions{})
		return err
	})
}

// expand asks for a larger volume, which there may not be yet.
func (l *life) expand(claim string) {
	l.grown = append(l.grown, claim)
	l.await("expand "+claim, patience, func(ctx context.Context) string {
		c, err := l.client.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, claim, metav1.GetOptions{})
		if err == nil && c.Status.Phase != corev1.ClaimBound {
			return "not bound"
		}
		if err == nil {
			c.Spec.Resources.Requests = size(2)
			_, err = l.client.CoreV1().PersistentVolumeClaims(namespace).Update(ctx, c, metav1.UpdateOptions{})
		}
		return text(err)
	})
}

// snapshot takes one, of a volume that there may not be yet.
func (l *life) snapshot() {
	l.do("create snapshot", func(ctx context.Context) error {
		_, err := l.dynamic.Resource(l.snapshots()).Namespace(namespace).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot", "metadata": map[string]any{"name": l.id},
			"spec": map[string]any{"source": map[string]any{"persistentVolumeClaimName": l.taken()}},
		}}, metav1.CreateOptions{})
		return err
	})
}

// fromSnapshot makes a claim of what the snapshot has, and a pod with it, where the snapshot is: the scheduler knows nothing
// of snapshots, and as long as nodes have equal scores it tries one and the same (without extenders Kubernetes 1.36 draws
// no lots, pkg/scheduler/schedule_one.go).
func (l *life) fromSnapshot() {
	l.restore = true
	there := l.where(l.taken())
	group := l.snapshots().Group
	l.do("create restored claim", func(ctx context.Context) error {
		spec := ask()
		spec.DataSource = &corev1.TypedLocalObjectReference{APIGroup: &group, Kind: "VolumeSnapshot", Name: l.id}
		_, err := l.client.CoreV1().PersistentVolumeClaims(namespace).Create(ctx, &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: l.restored()}, Spec: spec,
		}, metav1.CreateOptions{})
		return err
	})
	l.do("create pod with it", func(ctx context.Context) error {
		one := int32(1)
		labels := map[string]string{"life": l.restored()}
		pods := l.pods()
		pods.Labels = labels
		pods.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: there}}
		pods.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: l.restored()},
		}}}
		_, err := l.client.AppsV1().Deployments(namespace).Create(ctx, &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: l.restored()},
			Spec: appsv1.DeploymentSpec{
				Replicas: &one, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: pods,
				Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
			},
		}, metav1.CreateOptions{})
		return err
	})
}

// where are the nodes that can have the volume of a claim, which there may not be yet.
func (l *life) where(claim string) (there *corev1.NodeSelector) {
	l.await("volume of "+claim, patience, func(ctx context.Context) string {
		c, err := l.client.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, claim, metav1.GetOptions{})
		if err != nil || c.Spec.VolumeName == "" {
			return "not bound " + text(err)
		}
		v, err := l.client.CoreV1().PersistentVolumes().Get(ctx, c.Spec.VolumeName, metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		if v.Spec.NodeAffinity == nil {
			return "can be anywhere"
		}
		there = v.Spec.NodeAffinity.Required
		return ""
	})
	return there
}

// removal deletes everything, in an order in which a person might.
func (l *life) removal() []func() {
	background := metav1.DeletePropagationBackground
	remove := func(what string, f func(context.Context) error) func() { return func() { l.do("delete "+what, f) } }
	return []func(){
		remove("statefulset", func(ctx context.Context) error {
			return l.client.AppsV1().StatefulSets(namespace).Delete(ctx, l.id, metav1.DeleteOptions{PropagationPolicy: &background})
		}),
		remove("claims", func(ctx context.Context) error {
			return l.client.CoreV1().PersistentVolumeClaims(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
		}),
		remove("deployment", func(ctx context.Context) error {
			return l.client.AppsV1().Deployments(namespace).Delete(ctx, l.restored(), metav1.DeleteOptions{PropagationPolicy: &background})
		}),
		remove("snapshot", func(ctx context.Context) error {
			return l.dynamic.Resource(l.snapshots()).Namespace(namespace).Delete(ctx, l.id, metav1.DeleteOptions{})
		}),
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
