package existing

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
)

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
