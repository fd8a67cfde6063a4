package nodes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
)

// Cluster lists the nodes. All methods are safe for concurrent use, and answer from memory.
type Cluster interface {
	// Nodes returns all nodes, in any order; known is false while the list may be incomplete.
	Nodes() (all []KubeNode, known bool)
	// Listen calls f after the nodes have changed, until stop has returned. f must not block.
	Listen(f func()) (stop func())
}

// KubeNode is what identifies the VM of a node.
type KubeNode struct {
	Name string
	// ProviderID is "vsphere://<uuid>" after a cloud provider has set it; SystemUUID is the kubelet's, in either byte order.
	ProviderID, SystemUUID string
}

// uuid returns the BIOS UUID of the node's VM. The providerID has priority over the system UUID. If it is another provider's
// (such as that of k3s), the node may still run on a VM.
func (n KubeNode) uuid() (match.UUID, bool) {
	if u, err := match.ParseProviderID(n.ProviderID); err == nil {
		return u, true
	}
	u, err := parseUUID(n.SystemUUID)
	return u, err == nil
}

// parseUUID accepts a UUID with or without dashes.
func parseUUID(s string) (match.UUID, error) {
	s = strings.TrimSpace(s)
	if len(s) == 32 {
		s = s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
	}
	return match.ParseUUID(s)
}

// Informer is a [Cluster] that watches Node objects. Create it with [NewInformer] and call [Informer.Run] in a goroutine; all
// other methods are safe for concurrent use at any time.
type Informer struct {
	informer  cache.SharedIndexInformer
	listeners notify.Listeners[string]
}

var _ Cluster = (*Informer)(nil)

// NewInformer returns an Informer that has not started watching. It needs list and watch on nodes. It keeps only the name,
// uid, labels, providerID and system UUID of each node.
func NewInformer(client kubernetes.Interface) (*Informer, error) {
	i := &Informer{informer: informers.NewSharedInformerFactory(client, 0).Core().V1().Nodes().Informer()}
	if err := i.informer.SetTransform(trim); err != nil {
		return nil, fmt.Errorf("nodes informer: %w", err)
	}
	_, err := i.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { i.report(obj) },
		UpdateFunc: func(before, after any) {
			if !sameNode(before, after) {
				i.report(after)
			}
		},
		DeleteFunc: func(obj any) { i.report(obj) },
	})
	if err != nil {
		return nil, fmt.Errorf("nodes informer: %w", err)
	}
	return i, nil
}

// Run watches until ctx ends, and returns nil. It must be called once.
func (i *Informer) Run(ctx context.Context) error {
	i.informer.RunWithContext(ctx)
	return nil
}

// WaitSynced waits until all nodes are known, or returns ctx's error.
func (i *Informer) WaitSynced(ctx context.Context) error {
	if !cache.WaitForCacheSync(ctx.Done(), i.informer.HasSynced) {
		return errors.Join(errors.New("nodes informer: not in sync"), ctx.Err())
	}
	return nil
}

// Nodes implements [Cluster].
func (i *Informer) Nodes() (all []KubeNode, known bool) {
	known = i.informer.HasSynced()
	objects := i.informer.GetStore().List()
	all = make([]KubeNode, 0, len(objects))
	for _, obj := range objects {
		if n, ok := obj.(*corev1.Node); ok {
			all = append(all, KubeNode{Name: n.Name, ProviderID: n.Spec.ProviderID, SystemUUID: n.Status.NodeInfo.SystemUUID})
		}
	}
	return all, known
}

// Labels returns the labels of a node, which must not be modified, and whether the node exists.
func (i *Informer) Labels(node string) (map[string]string, bool) {
	obj, ok, err := i.informer.GetStore().GetByKey(node)
	if err != nil || !ok {
		return nil, false
	}
	n, ok := obj.(*corev1.Node)
	if !ok {
		return nil, false
	}
	return n.Labels, true
}

// Listen implements [Cluster].
func (i *Informer) Listen(f func()) (stop func()) { return i.listeners.Listen(func(string) { f() }) }

// ListenNode calls f with the name of a node that was added, removed, or changed in the fields that are kept, including its
// labels.
func (i *Informer) ListenNode(f func(node string)) (stop func()) { return i.listeners.Listen(f) }

func (i *Informer) report(obj any) {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		i.listeners.Notify(gone.Key)
		return
	}
	if n, ok := obj.(*corev1.Node); ok {
		i.listeners.Notify(n.Name)
	}
}

// trim drops the other fields: node objects are large and change every few seconds.
func trim(obj any) (any, error) {
	n, ok := obj.(*corev1.Node)
	if !ok {
		return obj, nil
	}
	small := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.Name, UID: n.UID, ResourceVersion: n.ResourceVersion, Labels: n.Labels},
		Spec:       corev1.NodeSpec{ProviderID: n.Spec.ProviderID},
	}
	small.Status.NodeInfo.SystemUUID = n.Status.NodeInfo.SystemUUID
	return small, nil
}

func sameNode(before, after any) bool {
	a, ok := before.(*corev1.Node)
	b, ok2 := after.(*corev1.Node)
	return ok && ok2 && a.UID == b.UID && a.Spec.ProviderID == b.Spec.ProviderID &&
		a.Status.NodeInfo.SystemUUID == b.Status.NodeInfo.SystemUUID && maps.Equal(a.Labels, b.Labels)
}
