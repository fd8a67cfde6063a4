package deploy

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// spare tells whether a pod waits for a node that the cluster does not have: it is to be on none where another pod of its
// workload is, and another is ready. Upstream's CSI controller is three such pods, whatever there is of a control plane; one of them is enough.
func (w workload) spare(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && unscheduledPod(pod) && apart(pod) &&
		slices.ContainsFunc(w.pods, func(p *corev1.Pod) bool { return p.DeletionTimestamp == nil && readyPod(p) })
}

// spares is how many there are.
func (w workload) spares() (n int) {
	for _, pod := range w.pods {
		if w.spare(pod) {
			n++
		}
	}
	return n
}

func unscheduledPod(pod *corev1.Pod) bool {
	return conditionIs(pod, corev1.PodScheduled, corev1.ConditionFalse)
}
func readyPod(pod *corev1.Pod) bool { return conditionIs(pod, corev1.PodReady, corev1.ConditionTrue) }

func conditionIs(pod *corev1.Pod, kind corev1.PodConditionType, status corev1.ConditionStatus) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind && c.Status == status })
}

// apart tells whether a pod is to be on another node than its like.
func apart(pod *corev1.Pod) bool {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAntiAffinity == nil {
		return false
	}
	return slices.ContainsFunc(pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, func(t corev1.PodAffinityTerm) bool {
		like, err := metav1.LabelSelectorAsSelector(t.LabelSelector)
		return err == nil && t.TopologyKey == corev1.LabelHostname && like.Matches(labels.Set(pod.Labels))
	})
}
