package sandbox

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// nodePods counts the pods of nodes that have not ended. The lock of the table guards it.
type nodePods struct {
	node  map[string]string // by pod, namespace/name
	count map[string]int    // by node
}

// place says where a pod is, "" for nowhere, and returns the nodes whose count has changed.
func (p *nodePods) place(pod, node string) (changed []string) {
	if p.node == nil {
		p.node, p.count = map[string]string{}, map[string]int{}
	}
	was := p.node[pod]
	if was == node {
		return nil
	}
	if was != "" {
		if p.count[was]--; p.count[was] == 0 {
			delete(p.count, was)
		}
		delete(p.node, pod)
		changed = append(changed, was)
	}
	if node != "" {
		p.node[pod] = node
		p.count[node]++
		changed = append(changed, node)
	}
	return changed
}

// pod tells of a pod; gone, that there is none any more.
func (r *rows) pod(p *corev1.Pod, gone bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	node := p.Spec.NodeName
	if gone || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		node = ""
	}
	for _, name := range r.pods.place(p.Namespace+"/"+p.Name, node) {
		if _, registered := r.nodes.nodes[name]; registered {
			r.joined(name)
		}
	}
}

// withPods adds the counts to rows of nodes.
func (r *rows) withPods(nodes []api.Node) []api.Node {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range nodes {
		nodes[i].Pods = r.pods.count[nodes[i].Name]
	}
	return nodes
}
