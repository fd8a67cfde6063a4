package sandbox

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/existing"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match/kubenode"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// guard refuses what would harm the cluster, or cannot be because of rights.
func (t *theirCluster) guard(ctx context.Context) error {
	if err := t.cluster.MayWatch(ctx); err != nil {
		return err
	}
	nodes, err := t.cluster.Nodes(ctx)
	if err != nil {
		return err
	}
	stray := strays(nodes, t.s.opts.Topology)
	if t.s.onlyWatches() {
		t.noteStrays(stray, len(nodes))
		return nil
	}
	if err := t.cluster.Straight(); err != nil {
		return err
	}
	objects, err := t.objects()
	if err != nil {
		return err
	}
	beside := t.s.opts.Cluster.Theirs.BesideController
	if err := t.cluster.CheckRights(ctx, objects, append(t.extra(), existing.Looking(beside)...)...); err != nil {
		return err
	}
	if err := t.cluster.GuardBeside(ctx, t.s.opts.Name, beside); err != nil {
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
		switch match.Find(kubenode.Facts(&nodes[i]), chosen, match.Choices{}).Reason {
		case match.Found, match.Ambiguous:
		default:
			names = append(names, nodes[i].Name)
		}
	}
	return names
}

// uuidsOf are the UUIDs, in both byte orders, by which a Node has its VM: that of its providerID where it has one, else that
// which its kubelet has read. None for a Node of another cloud.
func uuidsOf(n *corev1.Node) []string {
	u, err := match.ParseProviderID(n.Spec.ProviderID)
	if n.Spec.ProviderID == "" {
		u, err = match.ParseUUID(n.Status.NodeInfo.SystemUUID)
	}
	if err != nil {
		return nil
	}
	return []string{u.String(), u.Swapped().String()}
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
func (t *theirCluster) noteStrays(stray []string, all int) {
	if len(stray) == 0 {
		return
	}
	text := "nodes whose VM is none of the chosen ones: " + shorten.List(stray, 5)
	if len(stray) == all {
		text = fmt.Sprintf("no node of the cluster of context %q is one of the chosen VMs: %s", t.cluster.Context(), shorten.List(stray, 5))
	}
	t.s.log.Append(event.Event{Plane: event.PlaneSandbox, Level: event.Warning, Kind: "nodes.without-vm", Message: text})
}
