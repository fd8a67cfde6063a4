package kube

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// registered is what is remembered of a Node whose object is deleted: what people may have given it. The rest is its
// kubelet's and the cloud provider's.
type registered struct {
	UID           types.UID         `json:"uid"`
	Labels        map[string]string `json:"labels,omitempty"`
	Annotations   map[string]string `json:"annotations,omitempty"`
	Unschedulable bool              `json:"unschedulable,omitempty"`
}

func nodeDeleted() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "node.object-deleted", Object: fault.Node, Needs: []fault.Need{fault.Clustered, fault.Kubelets}, Touches: "node-object",
		Short: "deletes Node objects by hand, whose VMs and kubelets run on",
		Long: "A kubelet registers when it starts and not again: until then it only complains. Healing restarts it, waits until the Node is there, and gives it back " +
			"labels that are not the cloud provider's, annotations and the mark that it is not to be scheduled on; the cloud provider has to initialize it once more.",
		Reported: []string{"cloud-provider-vsphere#397", "cloud-provider-vsphere#501", "cloud-provider-vsphere#759"},
	}, fault.Steps[registered]{
		Plan: func(ctx context.Context, c *fault.Call) (registered, string, error) {
			r, err := remember(ctx, c)
			return r, "delete the Node object", err
		},
		Apply: func(ctx context.Context, c *fault.Call, r *registered) error { return r.remove(ctx, c) },
		Revert: func(ctx context.Context, c *fault.Call, r *registered) error {
			return r.restore(ctx, c, func(*corev1.Node) bool { return false })
		},
	})
}

// remember plans the deletion of the target.
func remember(ctx context.Context, c *fault.Call) (registered, error) {
	n, err := node(ctx, c)
	if err != nil {
		return registered{}, err
	}
	if c.Ground.Processes.Replicas(kubelet(c)) == 0 {
		return registered{}, fault.Refuse("node %q: the sandbox runs no kubelet that would register it again", n.Name)
	}
	return registered{UID: n.UID, Labels: peoples(n.Labels), Annotations: n.Annotations, Unschedulable: n.Spec.Unschedulable}, nil
}

// peoples are labels without those of the cloud provider, which has to give them again: where a machine is may have changed,
// and a cloud provider that does not say it must not look as if it did.
func peoples(labels map[string]string) map[string]string {
	labels = maps.Clone(labels)
	for _, key := range []string{
		corev1.LabelTopologyRegion, corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaRegion, corev1.LabelFailureDomainBetaZone,
		corev1.LabelInstanceTypeStable, corev1.LabelInstanceType,
	} {
		delete(labels, key)
	}
	return labels
}

func (r registered) remove(ctx context.Context, c *fault.Call) error {
	tell(c, "node.removed", event.Object{Kind: "Node", Name: c.Target.Name}, "Node object removed by hand")
	return c.Ground.Cluster.Client().CoreV1().Nodes().Delete(ctx, c.Target.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &r.UID}})
}

// restore has the Node registered anew by its kubelet, unless it is there; one that is foreign is deleted first. A node
// whose VM does not run any more registers when that does.
func (r registered) restore(ctx context.Context, c *fault.Call, foreign func(*corev1.Node) bool) error {
	nodes := c.Ground.Cluster.Client().CoreV1().Nodes()
	n, err := nodes.Get(ctx, c.Target.Name, metav1.GetOptions{})
	if err == nil && foreign(n) {
		tell(c, "node.removed", event.Object{Kind: "Node", Name: c.Target.Name}, "foreign Node object removed")
		if err = nodes.Delete(ctx, n.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &n.UID}}); err != nil {
			return err
		}
		err = apierrors.NewNotFound(corev1.Resource("nodes"), n.Name)
	}
	if apierrors.IsNotFound(err) {
		defer causing(c, kubelet(c))()
		if err := c.Ground.Processes.Restart(ctx, kubelet(c)); err != nil {
			return still(c, kubelet(c), err)
		}
		err = registers(ctx, c.Ground.Cluster.Client(), c.Target.Name)
	}
	if err != nil {
		return err
	}
	return changeNode(ctx, c, r.complete)
}

// complete gives a Node what it lacks.
func (r registered) complete(n *corev1.Node) bool {
	changed := n.Spec.Unschedulable != r.Unschedulable
	n.Spec.Unschedulable = r.Unschedulable
	n.Labels, n.Annotations = maps.Clone(n.Labels), maps.Clone(n.Annotations)
	labels, annotations := missing(&n.Labels, r.Labels), missing(&n.Annotations, r.Annotations)
	return changed || labels || annotations
}

func missing(have *map[string]string, want map[string]string) (changed bool) {
	for key, value := range want {
		if _, ok := (*have)[key]; ok {
			continue
		}
		if *have == nil {
			*have = map[string]string{}
		}
		(*have)[key], changed = value, true
	}
	return changed
}

// registers waits until there is a Node of that name.
func registers(ctx context.Context, client kubernetes.Interface, name string) error {
	for only := fields.OneTermEqualSelector("metadata.name", name).String(); ; {
		list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{FieldSelector: only})
		if err != nil {
			return err
		}
		if slices.ContainsFunc(list.Items, func(n corev1.Node) bool { return n.Name == name }) {
			return nil
		}
		w, err := client.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{FieldSelector: only, ResourceVersion: list.ResourceVersion})
		if err != nil {
			return err
		}
		select {
		case <-w.ResultChan(): // it is there, or the watch has ended: the list tells
			w.Stop()
		case <-ctx.Done():
			w.Stop()
			return fmt.Errorf("node %q: its kubelet has not registered it: %w", name, context.Cause(ctx))
		}
	}
}
