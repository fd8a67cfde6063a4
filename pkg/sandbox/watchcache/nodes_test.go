package watchcache

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

func TestPodsOfNodes(t *testing.T) {
	var c Cache
	pod := func(name, node string, phase corev1.PodPhase) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: corev1.PodSpec{NodeName: node},
			Status: corev1.PodStatus{Phase: phase},
		}
	}
	count := func(node string) int {
		c.mu.Lock()
		defer c.mu.Unlock()
		if l := c.table["node/"+node]; l != nil {
			return l.update.Node.Pods
		}
		return -1
	}
	c.SetPod(pod("early", "a", corev1.PodPending), false) // before its node is known
	c.SetNode(api.Node{Name: "a", Registered: true}, match.Node{})
	c.SetNode(api.Node{Name: "b", Registered: true}, match.Node{})
	for _, step := range []struct {
		pod  *corev1.Pod
		gone bool
		a, b int
	}{
		{pod("waits", "", corev1.PodPending), false, 1, 0},
		{pod("waits", "b", corev1.PodPending), false, 1, 1},
		{pod("waits", "b", corev1.PodRunning), false, 1, 1},
		{pod("early", "a", corev1.PodSucceeded), false, 0, 1},
		{pod("early", "a", corev1.PodSucceeded), true, 0, 1},
		{pod("waits", "b", corev1.PodRunning), true, 0, 0},
		{pod("waits", "a", corev1.PodRunning), false, 1, 0}, // a StatefulSet's, of the same name
	} {
		c.SetPod(step.pod, step.gone)
		if a, b := count("a"), count("b"); a != step.a || b != step.b {
			t.Errorf("after %s gone=%v: %d, %d, want %d, %d", step.pod.Name, step.gone, a, b, step.a, step.b)
		}
	}
	if nodes := c.CountPods([]api.Node{{Name: "a"}, {Name: "b"}}); nodes[0].Pods != 1 || nodes[1].Pods != 0 {
		t.Errorf("%+v", nodes)
	}
}
