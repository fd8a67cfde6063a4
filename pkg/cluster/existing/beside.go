package existing

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
)

// This file is for a sandbox that runs as a process on the user's host and watches the nodes of a cluster.

// MayWatch checks the permissions that such a sandbox requires.
func (c *Cluster) MayWatch(ctx context.Context) error {
	wanted := []authorizationv1.ResourceAttributes{{Verb: "get", Resource: "nodes"}}
	for _, resource := range []string{"nodes", "events"} {
		for _, verb := range []string{"list", "watch"} {
			wanted = append(wanted, authorizationv1.ResourceAttributes{Verb: verb, Resource: resource})
		}
	}
	return c.holds(ctx, wanted, "to watch its nodes", "use another context: --context NAME")
}

// Nodes returns the cluster's nodes.
func (c *Cluster) Nodes(ctx context.Context) ([]corev1.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*Patience)
	defer cancel()
	list, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, c.explain(ctx, err)
	}
	return list.Items, nil
}

// GuardOutside rejects a cluster that has a cloud controller manager, unless that is allowed, or a namespace of the name
// that the sandbox needs.
func (c *Cluster) GuardOutside(ctx context.Context, name string, besideController bool) error {
	ctx, cancel := context.WithTimeout(ctx, 3*Patience)
	defer cancel()
	if err := c.namespaceFree(ctx, name); err != nil || besideController {
		return c.explain(ctx, err)
	}
	where, err := c.controller(ctx)
	if err != nil || where == "" {
		return c.explain(ctx, err)
	}
	return &coded.Error{
		Code: CodeController, Message: "the cluster runs a cloud controller manager, and two would manage the same nodes: " + where,
		Try: "leave --ccm out   # the sandbox then only watches\n--beside-cloud-controller   # if that one is stopped, or ignores these nodes\n--context NAME   # another cluster",
	}
}

func (c *Cluster) namespaceFree(ctx context.Context, name string) error {
	_, err := c.client.CoreV1().Namespaces().Get(ctx, NamespaceOf(name), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return &coded.Error{
		Code: CodeTaken, Message: fmt.Sprintf("the cluster has a namespace %s already", NamespaceOf(name)),
		Try: "--name ANOTHER\nkubectl --context " + c.context + " delete namespace " + NamespaceOf(name) + "   # if nothing in it is needed",
	}
}

// CheckDirectAccess returns an error if the API server is only reachable in a way that a process with its own token cannot use:
// the process gets an address, and the sandbox must be able to cut connections to it.
func (c *Cluster) CheckDirectAccess() error {
	how := ""
	switch {
	case strings.Trim(c.server.Path, "/") != "":
		how = "below a path"
	case c.rest.Proxy != nil:
		how = "through a proxy"
	default:
		return nil
	}
	return &coded.Error{
		Code: CodeKubeconfig, Message: fmt.Sprintf("context %q reaches its API server %s, but a cloud controller manager here needs its address", c.context, how),
		Try: "--context NAME   # one with a direct connection to the API server\nleave --ccm out   # the sandbox then only watches",
	}
}

// GuardRights returns the permissions that [Cluster.GuardOutside] needs.
func GuardRights(besideController bool) []authorizationv1.ResourceAttributes {
	rights := []authorizationv1.ResourceAttributes{{Verb: "get", Resource: "namespaces"}}
	if besideController {
		return rights
	}
	return append(rights, []authorizationv1.ResourceAttributes{
		{Verb: "list", Group: "coordination.k8s.io", Resource: "leases", Namespace: metav1.NamespaceSystem},
		{Verb: "list", Resource: "pods", Namespace: metav1.NamespaceSystem},
		{Verb: "list", Group: "apps", Resource: "daemonsets"},
		{Verb: "list", Group: "apps", Resource: "deployments"},
	}...)
}

// CreateNamespace creates the namespace of a sandbox, with these labels.
func (c *Cluster) CreateNamespace(ctx context.Context, name string, labels map[string]string) error {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	_, err := c.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: NamespaceOf(name), Labels: labels},
	}, metav1.CreateOptions{})
	return c.explain(ctx, err)
}

// besideTime is the timeout of [Cluster.RemoveOutside].
const besideTime = 80 * time.Second

// RemoveOutside removes what such a sandbox created: roles and bindings with its labels, and its namespace with everything
// in it. It waits until that is gone.
func (c *Cluster) RemoveOutside(ctx context.Context, name string, say func(string)) error {
	client, err := metadata.NewForConfig(c.REST())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, besideTime)
	defer cancel()
	r := remover{client: client, selectors: []string{selectManaged(name)}, kinds: besideKinds()}
	err = r.all(ctx, say)
	if waits := (*stillThere)(nil); errors.As(err, &waits) {
		return c.left(name, waits)
	}
	return c.explain(ctx, err)
}

// besideKinds returns the kinds of its objects, in the order of their removal.
func besideKinds() []made {
	var some []made
	for _, k := range kinds() {
		switch k.kind {
		case "RoleBinding", "Role", "ClusterRoleBinding", "ClusterRole", "Namespace":
			some = append(some, k)
		}
	}
	return some
}
