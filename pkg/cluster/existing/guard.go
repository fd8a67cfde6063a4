package existing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match/kubenode"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Intent is what the sandbox brings into a cluster, as far as it could harm the cluster's own nodes.
type Intent struct {
	// Name is the sandbox's name.
	Name string
	// VMs become Nodes of the sandbox: a cloud controller manager may mistake a node of the cluster for one of them.
	VMs []match.VM
	// AllowController allows a cluster with a cloud controller manager, AllowUnowned one with nodes without a providerID.
	AllowController, AllowUnowned bool
}

// Guard looks for anything in the cluster that would do harm or be harmed, and returns the first as an [*coded.Error].
// The sandbox's cloud controller manager sees every Node of the cluster. It ignores Nodes with another cloud's providerID
// (package provider explains why); Guard rejects the cluster if it has others.
func (c *Cluster) Guard(ctx context.Context, i Intent) error {
	ctx, cancel := context.WithTimeout(ctx, 3*Patience)
	defer cancel()
	for _, check := range []func(context.Context, Intent) error{c.guardSandboxes, c.guardNodes, c.guardController} {
		if err := check(ctx, i); err != nil {
			return c.explain(ctx, err)
		}
	}
	return nil
}

// guardSandboxes rejects a cluster with another sandbox: each of their cloud controller managers would delete the other's
// nodes.
func (c *Cluster) guardSandboxes(ctx context.Context, i Intent) error {
	all, err := c.client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{LabelSelector: selectAnyChart})
	if err != nil {
		return err
	}
	for _, ns := range all.Items {
		name := ns.Labels[instanceLabel]
		return &coded.Error{
			Code: CodeTaken, Message: fmt.Sprintf("the cluster has the sandbox %q already, in namespace %s, and supports only one", name, ns.Name),
			Try: fmt.Sprintf("vsphere-sandbox down --name %s\n--context NAME   # another cluster", name),
		}
	}
	for _, name := range []string{program, NamespaceOf(i.Name)} { // the chart's namespaces
		_, err := c.client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		e := &coded.Error{
			Code: CodeTaken, Message: fmt.Sprintf("the cluster has a namespace %s that was not created by a sandbox", name),
			Try: "--context NAME   # another cluster\nkubectl --context " + c.context + " delete namespace " + name + "   # if nothing in it is needed",
		}
		if name == NamespaceOf(i.Name) {
			e.Try = "--name ANOTHER\n" + e.Try
		}
		return e
	}
	return nil
}

// guardNodes rejects nodes that the cloud controller manager could mistake for VMs of the sandbox.
func (c *Cluster) guardNodes(ctx context.Context, i Intent) error {
	list, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return err
	}
	var unowned []string
	for _, n := range list.Items {
		if slices.ContainsFunc(i.VMs, func(vm match.VM) bool { return strings.EqualFold(vm.HostName, n.Name) }) {
			return &coded.Error{
				Code: CodeName, Message: fmt.Sprintf("the cluster has a node %s, and a VM of the topology would become a node of the same name", n.Name),
				Try: "give the VM another hostname in the topology\n--context NAME   # another cluster",
			}
		}
		if isVSphere(n.Spec.ProviderID) {
			return endangered(fmt.Sprintf("node %s has the providerID %s: it would be deleted as soon as it is not Ready, since no vCenter of the sandbox has its VM", n.Name, n.Spec.ProviderID))
		}
		if uninitialized(n) {
			return endangered(fmt.Sprintf("node %s waits for a cloud controller manager, and the sandbox's would initialize it", n.Name))
		}
		if n.Spec.ProviderID != "" {
			continue
		}
		if like := alike(n, i); like != "" {
			return endangered(fmt.Sprintf("node %s has no providerID, and has %s of a VM of the topology: it would be mistaken for that VM", n.Name, like))
		}
		unowned = append(unowned, n.Name)
	}
	if len(unowned) == 0 || i.AllowUnowned {
		return nil
	}
	return &coded.Error{
		Code: CodeNodes, Message: fmt.Sprintf("%d nodes have no providerID, the first is %s: a cloud controller manager may mistake them for its own", len(unowned), unowned[0]),
		Try: "--beside-unowned-nodes   # none of them has a name, UUID or address of this topology\n--context NAME   # another cluster",
	}
}

func endangered(why string) error {
	return &coded.Error{Code: CodeNodes, Message: why, Try: "--context NAME   # another cluster"}
}

// isVSphere reports whether vSphere's provider parses a providerID.
func isVSphere(id string) bool {
	_, err := match.ParseProviderID(id)
	return id != "" && !errors.Is(err, match.ErrForeignProviderID)
}

func uninitialized(n corev1.Node) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == "node.cloudprovider.kubernetes.io/uninitialized" })
}

// alike returns the property by which the provider would mistake a node for a VM, or "".
func alike(n corev1.Node, i Intent) string {
	a := match.Find(kubenode.Facts(&n), match.List[match.VM]{VMs: i.VMs}, match.Behavior{})
	switch {
	case a.Reason == match.NotFound:
		return ""
	case a.By == match.BySystemUUID:
		return "the system UUID"
	}
	return "the " + string(a.By) + " " + a.Key
}

// VMOf returns the properties of a topology's VM that the provider compares.
func VMOf(r topology.VMRef) match.VM {
	vm := match.VM{VCenter: r.VCenter.Name, Ref: r.VM.Name, HostName: r.VM.Hostname, Template: r.VM.Template == topology.Yes, Connected: true}
	vm.UUID, _ = match.ParseUUID(r.VM.UUID)
	for _, nic := range r.VM.NICs {
		for _, a := range nic.Addresses {
			ip, _, _ := strings.Cut(a, "/")
			vm.Addresses = append(vm.Addresses, match.ParseAddresses([]string{ip})...)
		}
	}
	return vm
}

// fresh is the age up to which a Lease's renewal shows a live holder.
const fresh = time.Minute

// guardController rejects a cluster that has a cloud controller manager: it would see the sandbox's nodes, and not find
// their VMs in its cloud. If the control plane is not visible, a providerID shows that there is one.
func (c *Cluster) guardController(ctx context.Context, i Intent) error {
	if i.AllowController {
		return nil
	}
	where, err := c.controller(ctx)
	if err != nil || where == "" {
		return err
	}
	return &coded.Error{
		Code: CodeController, Message: "the cluster runs a cloud controller manager, which may delete nodes of the sandbox: " + where,
		Try: "--beside-cloud-controller   # if it ignores nodes that it does not know\n--context NAME   # another cluster",
	}
}

// controller returns where a cloud controller manager was found, or "".
func (c *Cluster) controller(ctx context.Context) (where string, err error) {
	leases, err := c.client.CoordinationV1().Leases(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	for _, l := range leases.Items {
		held := l.Spec.HolderIdentity != nil && *l.Spec.HolderIdentity != "" && l.Spec.RenewTime != nil && time.Since(l.Spec.RenewTime.Time) < fresh
		if held && isController(l.Name) {
			return fmt.Sprintf("the Lease kube-system/%s is held by %s", l.Name, *l.Spec.HolderIdentity), nil
		}
	}
	for _, workloads := range []func(context.Context) ([]workload, error){c.daemonSets, c.deployments, c.staticPods} {
		all, err := workloads(ctx)
		if err != nil {
			return "", err
		}
		for _, w := range all {
			if w.controls() {
				return w.name, nil
			}
		}
	}
	nodes, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return "", err
	}
	for _, n := range nodes.Items {
		cloud, _, found := strings.Cut(n.Spec.ProviderID, "://")
		if found && cloud != "kind" { // kind sets providerIDs without a cloud
			return fmt.Sprintf("node %s has the providerID %s", n.Name, n.Spec.ProviderID), nil
		}
	}
	return "", nil
}
