package deploy

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster"
)

// spare reports whether a pod is not needed and cannot become ready. One kind waits for a node that the cluster does not
// have: it must not share a node with another pod of its workload, and another is ready. Upstream's CSI controller has
// three such pods on any control plane, and one is enough. The other kind is on a node that is no VM, as upstream's CSI
// node service runs on all nodes: it finds no VM serial number there.
func (w workload) spare(pod *corev1.Pod) bool {
	if w.kind == "DaemonSet" && w.noVMs[pod.Spec.NodeName] && !readyPod(pod) {
		return true
	}
	return pod.DeletionTimestamp == nil && unscheduledPod(pod) && apart(pod) &&
		slices.ContainsFunc(w.pods, func(p *corev1.Pod) bool { return p.DeletionTimestamp == nil && readyPod(p) })
}

// spares returns the number of spare pods.
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

// apart reports whether a pod must be on another node than the others of its workload.
func apart(pod *corev1.Pod) bool {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAntiAffinity == nil {
		return false
	}
	return slices.ContainsFunc(pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, func(t corev1.PodAffinityTerm) bool {
		like, err := metav1.LabelSelectorAsSelector(t.LabelSelector)
		return err == nil && t.TopologyKey == corev1.LabelHostname && like.Matches(labels.Set(pod.Labels))
	})
}

// lookForNoVMs records which nodes are no VMs: the cluster's own control plane, which exists before the deployment.
func (d *Deployment) lookForNoVMs(ctx context.Context) error {
	nodes, err := d.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: cluster.NoVM})
	if err != nil {
		return err
	}
	found := map[string]bool{}
	for _, n := range nodes.Items {
		found[n.Name] = true
	}
	d.tracker.starting.Lock()
	defer d.tracker.starting.Unlock()
	d.tracker.noVMs = found
	return nil
}
