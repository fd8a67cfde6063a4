package provider

import (
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match/kubenode"
)

// nodes reads the cluster's Nodes, which are available once informers are set, and writes Events about them.
type nodes struct {
	lister atomic.Pointer[corelisters.NodeLister]
	events nodeEvents
}

var _ cloudprovider.InformerUser = (*Provider)(nil)

// SetInformers implements [cloudprovider.InformerUser].
func (p *Provider) SetInformers(factory informers.SharedInformerFactory) {
	known := factory.Core().V1().Nodes()
	lister := known.Lister()
	p.nodes.lister.Store(&lister)
	// AddEventHandler can fail only after the informer has stopped.
	_, _ = known.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) {
			if node, ok := o.(*corev1.Node); ok {
				p.enqueueAnnotation(node)
			}
		},
		UpdateFunc: func(before, after any) {
			old, ok := before.(*corev1.Node)
			node, also := after.(*corev1.Node)
			if ok && also && (old.UID != node.UID || old.Spec.ProviderID != node.Spec.ProviderID || old.Annotations[VMAnnotation] != node.Annotations[VMAnnotation]) {
				p.annotations.changed(node)
				p.enqueueAnnotation(node)
			}
		},
		DeleteFunc: func(o any) {
			if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = gone.Obj
			}
			if node, ok := o.(*corev1.Node); ok {
				p.nodes.events.Forget(node)
				p.annotations.changed(node)
			}
		},
	})
}

// known returns the Node with this name, or nil if it does not exist or informers are not set.
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

// annotated returns query, which identifies a VM by providerID, with the VM annotation of the cluster's Node that has this
// providerID. If several Nodes have it, it takes one that is annotated.
func (k *nodes) annotated(query *corev1.Node) *corev1.Node {
	lister := k.lister.Load()
	if lister == nil {
		return query
	}
	all, err := (*lister).List(labels.Everything())
	if err != nil {
		return query
	}
	for _, node := range all {
		if text, ok := node.Annotations[VMAnnotation]; ok && node.Spec.ProviderID == query.Spec.ProviderID {
			query = query.DeepCopy()
			query.Annotations = map[string]string{VMAnnotation: text}
			break
		}
	}
	return query
}

// named returns the Node with this name, with everything that identifies its VM. Without informers it returns a Node that
// has only the name.
func (k *nodes) named(name types.NodeName) *corev1.Node {
	if node := k.known(string(name)); node != nil {
		return node
	}
	node := &corev1.Node{}
	node.Name = string(name)
	return node
}

// changed returns how the cluster's Node differs from the one that a caller asked about, or that it is deleted; see
// [kubenode.Changed].
func (k *nodes) changed(node *corev1.Node) string {
	lister := k.lister.Load()
	if lister == nil || node.Name == "" {
		return "" // no informers, or the query is about a VM
	}
	now, err := (*lister).Get(node.Name)
	if err != nil {
		return "the node has been deleted"
	}
	return kubenode.Changed(node, now)
}

func readyCondition(c corev1.NodeCondition) bool {
	return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
}
