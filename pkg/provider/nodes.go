package provider

import (
	"slices"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	cloudprovider "k8s.io/cloud-provider"
)

// nodes are the cluster's nodes, which are known once there are informers, and what is told about them.
type nodes struct {
	lister atomic.Pointer[corelisters.NodeLister]
	events *nodeEvents
}

var _ cloudprovider.InformerUser = (*Provider)(nil)

// SetInformers implements [cloudprovider.InformerUser]: nodes are known by name from then on, and forgotten in time.
func (p *Provider) SetInformers(factory informers.SharedInformerFactory) {
	known := factory.Core().V1().Nodes()
	lister := known.Lister()
	p.nodes.lister.Store(&lister)
	// It cannot fail before the informer has been stopped.
	_, _ = known.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) {
			if node, ok := o.(*corev1.Node); ok {
				p.remember(node)
			}
		},
		UpdateFunc: func(before, after any) {
			old, ok := before.(*corev1.Node)
			node, also := after.(*corev1.Node)
			if ok && also && (old.UID != node.UID || old.Spec.ProviderID != node.Spec.ProviderID || old.Annotations[VMAnnotation] != node.Annotations[VMAnnotation]) {
				p.annotations.changed(node)
				p.remember(node)
			}
		},
		DeleteFunc: func(o any) {
			if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = gone.Obj
			}
			if node, ok := o.(*corev1.Node); ok {
				p.nodes.events.forget(node)
				p.annotations.changed(node)
			}
		},
	})
}

// known returns the node of that name; nil when there is none, or the cluster's nodes are not known.
func (k *nodes) known(name string) *corev1.Node {
	lister := k.lister.Load()
	if lister == nil {
		return nil
	}
	node, err := (*lister).Get(name)
	if err != nil {
		return nil
	}
	return node
}

// annotated returns a question about a VM with what the cluster's node of that providerID remembers of it. Of several
// nodes it is one that remembers something.
func (k *nodes) annotated(question *corev1.Node) *corev1.Node {
	lister := k.lister.Load()
	if lister == nil {
		return question
	}
	all, err := (*lister).List(labels.Everything())
	if err != nil {
		return question
	}
	for _, node := range all {
		if text, ok := node.Annotations[VMAnnotation]; ok && node.Spec.ProviderID == question.Spec.ProviderID {
			question = question.DeepCopy()
			question.Annotations = map[string]string{VMAnnotation: text}
			break
		}
	}
	return question
}

// named returns the node of that name, with all that identifies its VM; where the cluster's nodes are not known, one
// that has nothing but the name.
func (k *nodes) named(name types.NodeName) *corev1.Node {
	if node := k.known(string(name)); node != nil {
		return node
	}
	node := &corev1.Node{}
	node.Name = string(name)
	return node
}

// changed says how the cluster's node of that name is no longer the one that was asked about: replaced, deleted, of another
// VM, or ready. The stock lifecycle controller deletes by name alone, and a slow vCenter takes seconds to answer: the node
// of a VM that was made anew under the same name would be deleted for the one before
// (kubernetes/cloud-provider-vsphere#397).
func (k *nodes) changed(node *corev1.Node) string {
	lister := k.lister.Load()
	if lister == nil || node.Name == "" {
		return "" // nodes are not known, or the question is about a VM
	}
	now, err := (*lister).Get(node.Name)
	switch {
	case err != nil:
		return "the node has been deleted"
	case now.UID != node.UID:
		return "another node has its name"
	case now.Spec.ProviderID != node.Spec.ProviderID || now.Status.NodeInfo.SystemUUID != node.Status.NodeInfo.SystemUUID:
		return "the node runs on another vm"
	case slices.ContainsFunc(now.Status.Conditions, isReady):
		return "the node is ready"
	}
	return ""
}

func isReady(c corev1.NodeCondition) bool {
	return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
}
