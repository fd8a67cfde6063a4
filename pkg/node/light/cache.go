package light

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// book is what is known of the cluster's Nodes, little of each. It implements kwok's getter of nodes.
type book struct{ cache.SharedIndexInformer }

func newBook(client kubernetes.Interface) (book, error) {
	b := book{cache.NewSharedIndexInformer(nodesOf(client), &corev1.Node{}, 0, cache.Indexers{})}
	return b, b.SetTransform(brief)
}

// brief is all of a Node that anything here reads.
func brief(o any) (any, error) {
	n, ok := o.(*corev1.Node)
	if !ok {
		return o, nil
	}
	short := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.Name, UID: n.UID, ResourceVersion: n.ResourceVersion},
		Spec:       corev1.NodeSpec{PodCIDR: n.Spec.PodCIDR, PodCIDRs: n.Spec.PodCIDRs},
		Status:     corev1.NodeStatus{Addresses: n.Status.Addresses},
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			short.Status.Conditions = []corev1.NodeCondition{{Type: c.Type, Status: c.Status}}
		}
	}
	return short, nil
}

// ready tells whether a Node counts as ready.
func ready(n *corev1.Node) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// Get implements kwok's informer.Getter.
func (b book) Get(name string) (*corev1.Node, bool) {
	o, ok, err := b.GetStore().GetByKey(name)
	if err != nil || !ok {
		return nil, false
	}
	return o.(*corev1.Node), true
}

// GetWithNamespace implements kwok's informer.Getter. Nodes are in none.
func (b book) GetWithNamespace(name, _ string) (*corev1.Node, bool) { return b.Get(name) }

// List implements kwok's informer.Getter.
func (b book) List() []*corev1.Node {
	var all []*corev1.Node
	for _, o := range b.GetStore().List() {
		all = append(all, o.(*corev1.Node))
	}
	return all
}
