package existing

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/existing"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match/kubenode"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// guard refuses what would harm the cluster, or cannot be because of rights.
func (g *Ground) guard(ctx context.Context) error {
	if err := g.cluster.MayWatch(ctx); err != nil {
		return err
	}
	nodes, err := g.cluster.Nodes(ctx)
	if err != nil {
		return err
	}
	stray := strays(nodes, g.Topology)
	if g.ReadOnly {
		g.noteStrays(stray, len(nodes))
		return nil
	}
	if err := g.cluster.CheckDirectAccess(); err != nil {
		return err
	}
	objects, err := g.objects()
	if err != nil {
		return err
	}
	if err := g.cluster.CheckRights(ctx, objects, append(g.extra(), existing.GuardRights(g.AllowController)...)...); err != nil {
		return err
	}
	if err := g.cluster.GuardOutside(ctx, g.Name, g.AllowController); err != nil {
		return err
	}
	if len(stray) > 0 {
		return endangered(stray)
	}
	return nil
}

// strays are the names of Nodes of which the provider would find none of the topology's VMs.
func strays(nodes []corev1.Node, top *topology.Topology) []string {
	var chosen match.List[match.VM]
	for r := range top.AllVMs() {
		chosen.VMs = append(chosen.VMs, existing.VMOf(r))
	}
	var names []string
	for i := range nodes {
		switch match.Find(kubenode.Facts(&nodes[i]), chosen, match.Behavior{}).Reason {
		case match.Found, match.Ambiguous:
		default:
			names = append(names, nodes[i].Name)
		}
	}
	return names
}

func endangered(stray []string) error {
	return &coded.Error{
		Code:    existing.CodeNodes,
		Message: fmt.Sprintf("a cloud controller manager deletes Nodes whose VM it does not find, and these have none among the chosen VMs: %s", shorten.List(stray, 5)),
		Try: "choose their VMs, too: --folder, --vm, --tag, or all by leaving these out\n" +
			"leave --ccm out   # the sandbox then only watches\n" +
			"vsphere-sandbox doctor --vcenter-config FILE --kubeconfig FILE   # which VM each node is",
	}
}

// noteStrays says which Nodes are shown without a VM. That all are may well be a context that was not meant.
func (g *Ground) noteStrays(stray []string, all int) {
	if len(stray) == 0 {
		return
	}
	text := "nodes whose VM is none of the chosen ones: " + shorten.List(stray, 5)
	if len(stray) == all {
		text = fmt.Sprintf("no node of the cluster of context %q is one of the chosen VMs: %s", g.cluster.Context(), shorten.List(stray, 5))
	}
	g.Log.Append(event.Event{Plane: event.PlaneSandbox, Level: event.Warning, Kind: "nodes.without-vm", Message: text})
}

// objects are all that will be made in the cluster, without what is in them: for the question whether the user may.
func (g *Ground) objects() ([]*unstructured.Unstructured, error) {
	made := append(g.Host.CCMObjects(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: g.namespace()}})
	var list []*unstructured.Unstructured
	for _, o := range made {
		kinds, _, err := scheme.Scheme.ObjectKinds(o)
		if err != nil {
			return nil, err
		}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			return nil, err
		}
		u := &unstructured.Unstructured{Object: content}
		u.SetGroupVersionKind(kinds[0])
		list = append(list, u)
	}
	return list, nil
}

// extra are rights that no object implies: to have tokens made, to follow what was made, to take roles back.
func (g *Ground) extra() []authorizationv1.ResourceAttributes {
	in := g.namespace()
	return []authorizationv1.ResourceAttributes{
		{Verb: "create", Resource: "serviceaccounts", Subresource: "token", Namespace: in},
		{Verb: "watch", Resource: "configmaps", Namespace: in},
		{Verb: "watch", Resource: "secrets", Namespace: in},
		{Verb: "list", Group: rbacv1.GroupName, Resource: "roles"},
		{Verb: "list", Group: rbacv1.GroupName, Resource: "rolebindings"},
	}
}
