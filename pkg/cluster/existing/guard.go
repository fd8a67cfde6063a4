package existing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
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

// asked is the number of parallel access reviews.
const asked = 16

// CheckRights checks the user's permissions for an installation: to create each object, to hold every permission in its
// roles (RBAC lets users grant only what they have), and those in extra. A cluster administrator is recognized with one
// request. The error lists the missing permissions.
func (c *Cluster) CheckRights(ctx context.Context, objects []*unstructured.Unstructured, extra ...authorizationv1.ResourceAttributes) error {
	wanted, err := needed(objects)
	if err != nil {
		return err
	}
	return c.holds(ctx, append(wanted, extra...), "for an installation", "use an administrator's context: --context NAME")
}

// holds checks that the user has all these permissions; the error lists the missing ones. what is their purpose.
func (c *Cluster) holds(ctx context.Context, wanted []authorizationv1.ResourceAttributes, what, try string) error {
	all, err := c.may(ctx, authorizationv1.ResourceAttributes{Verb: "*", Group: "*", Resource: "*"})
	if err != nil || all {
		return c.explain(ctx, err)
	}
	var mu sync.Mutex
	var missing []string
	g, each := errgroup.WithContext(ctx)
	g.SetLimit(asked)
	for _, w := range wanted {
		g.Go(func() error {
			ok, err := c.may(each, w)
			if err != nil || ok {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			missing = append(missing, right(w))
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return c.explain(ctx, err)
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return &coded.Error{
		Code: CodeRights, Message: fmt.Sprintf("the user of context %q lacks permissions %s: %s", c.context, what, shorten.List(missing, 8)),
		Try: try,
	}
}

func (c *Cluster) may(ctx context.Context, a authorizationv1.ResourceAttributes) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &a}}
	answer, err := c.client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return answer.Status.Allowed, nil
}

// needed returns the permissions to create, watch and delete objects, and those in their roles, each once.
func needed(objects []*unstructured.Unstructured) ([]authorizationv1.ResourceAttributes, error) {
	seen := map[authorizationv1.ResourceAttributes]bool{}
	var all []authorizationv1.ResourceAttributes
	add := func(a authorizationv1.ResourceAttributes) {
		if !seen[a] {
			seen[a] = true
			all = append(all, a)
		}
	}
	for _, o := range objects {
		resource, err := resourceOf(o.GroupVersionKind())
		if err != nil {
			return nil, err
		}
		for _, verb := range []string{"create", "patch", "list", "delete"} {
			add(authorizationv1.ResourceAttributes{Verb: verb, Group: resource.Group, Resource: resource.Resource, Namespace: o.GetNamespace()})
		}
		var role struct {
			Rules []rbacv1.PolicyRule `json:"rules"`
		}
		if o.GetKind() != "ClusterRole" && o.GetKind() != "Role" {
			continue
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &role); err != nil {
			return nil, fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
		}
		for _, r := range role.Rules {
			for _, a := range attributes(r, o.GetNamespace()) {
				add(a)
			}
		}
	}
	in, pods := namespaceOf(objects)
	if !pods {
		return all, nil
	}
	for _, subresource := range []string{"log", "portforward"} { // to connect to the sandbox
		verb := map[string]string{"log": "get", "portforward": "create"}[subresource]
		add(authorizationv1.ResourceAttributes{Verb: verb, Resource: "pods", Subresource: subresource, Namespace: in})
	}
	return all, nil
}

// namespaceOf returns the namespace of the installation's pods; false if it has none.
func namespaceOf(objects []*unstructured.Unstructured) (string, bool) {
	for _, o := range objects {
		if o.GetKind() == "Deployment" {
			return o.GetNamespace(), true
		}
	}
	return "", false
}

func attributes(r rbacv1.PolicyRule, namespace string) []authorizationv1.ResourceAttributes {
	names := r.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	var all []authorizationv1.ResourceAttributes
	for _, group := range r.APIGroups {
		for _, path := range r.Resources {
			resource, sub, _ := strings.Cut(path, "/")
			for _, verb := range r.Verbs {
				for _, name := range names {
					all = append(all, authorizationv1.ResourceAttributes{
						Verb: verb, Group: group, Resource: resource, Subresource: sub, Namespace: namespace, Name: name,
					})
				}
			}
		}
	}
	return all
}

// right formats a permission: "create deployments.apps in sandbox".
func right(a authorizationv1.ResourceAttributes) string {
	what := a.Resource
	if a.Group != "" {
		what += "." + a.Group
	}
	if a.Subresource != "" {
		what += "/" + a.Subresource
	}
	text := a.Verb + " " + what
	if a.Name != "" {
		text += " " + a.Name
	}
	if a.Namespace != "" {
		text += " in " + a.Namespace
	}
	return text
}
