package kube

import (
	"context"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// accountParam returns the parameter that chooses an account.
func accountParam() fault.Param {
	return fault.Param{Name: "component", Short: "whose ServiceAccount", Type: fault.Text, Default: ccm}
}

// account returns the ServiceAccount of a call.
func account(c *fault.Call) (rbacv1.Subject, error) {
	namespace, name, err := c.Ground.Cluster.Account(c.Params.Text("component"))
	if err != nil {
		return rbacv1.Subject{}, &fault.Refusal{Code: "not-found", Message: err.Error()}
	}
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}, nil
}

// bindings are the bindings that give an account its roles.
type bindings struct {
	Cluster    []rbacv1.ClusterRoleBinding `json:"cluster,omitempty"`
	Namespaced []rbacv1.RoleBinding        `json:"namespaced,omitempty"`
}

func (b bindings) empty() bool { return len(b.Cluster)+len(b.Namespaced) == 0 }

// bound returns the bindings that name an account; those of its groups are not included.
func bound(ctx context.Context, c *fault.Call, who rbacv1.Subject) (b bindings, err error) {
	is := func(s rbacv1.Subject) bool {
		return s.Kind == who.Kind && s.Namespace == who.Namespace && s.Name == who.Name
	}
	roles := c.Ground.Cluster.Client().RbacV1()
	cluster, err := roles.ClusterRoleBindings().List(ctx, metav1.ListOptions{})
	if err != nil {
		return b, err
	}
	for _, r := range cluster.Items {
		if slices.ContainsFunc(r.Subjects, is) {
			b.Cluster = append(b.Cluster, r)
		}
	}
	namespaced, err := roles.RoleBindings(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return b, err
	}
	for _, r := range namespaced.Items {
		if slices.ContainsFunc(r.Subjects, is) {
			b.Namespaced = append(b.Namespaced, r)
		}
	}
	return b, nil
}

// fresh returns the metadata with which an object is created again.
func fresh(m metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, Labels: m.Labels, Annotations: m.Annotations, Finalizers: m.Finalizers}
}

// unless returns err, or nil if ok accepts it.
func unless(err error, ok func(error) bool) error {
	if ok(err) {
		return nil
	}
	return err
}

func bindingRemoved() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "rbac.binding-removed", Object: fault.Sandbox, Needs: []fault.Need{fault.Clustered}, Aspect: "rbac",
		Short: "takes a component's roles away, all or one of them",
		Long: "Its RoleBindings and ClusterRoleBindings are deleted, as by an installation that was half removed. Every further call is forbidden; a watch that runs " +
			"is not ended. Healing creates them again as they were.",
		Params: []fault.Param{
			accountParam(),
			{Name: "binding", Short: "the name of the one to delete; all, if none is given", Type: fault.Text},
		},
		Reported: []string{"cloud-provider-vsphere#1415"},
	}, fault.Steps[bindings]{
		Plan: func(ctx context.Context, c *fault.Call) (bindings, string, error) {
			who, err := account(c)
			if err != nil {
				return bindings{}, "", err
			}
			b, err := bound(ctx, c, who)
			if name := c.Params.Text("binding"); name != "" {
				b.Cluster = slices.DeleteFunc(b.Cluster, func(r rbacv1.ClusterRoleBinding) bool { return r.Name != name })
				b.Namespaced = slices.DeleteFunc(b.Namespaced, func(r rbacv1.RoleBinding) bool { return r.Name != name })
			}
			if err == nil && b.empty() {
				err = fault.Refuse("ServiceAccount %s/%s: has no such binding", who.Namespace, who.Name)
			}
			return b, "delete " + b.String(), err
		},
		Apply: func(ctx context.Context, c *fault.Call, b *bindings) error {
			report(c, "rbac.changed", event.Object{Kind: "ServiceAccount", Name: c.Params.Text("component")}, "deleted "+b.String())
			roles := c.Ground.Cluster.Client().RbacV1()
			for _, r := range b.Cluster {
				if err := roles.ClusterRoleBindings().Delete(ctx, r.Name, metav1.DeleteOptions{}); err != nil {
					return err
				}
			}
			for _, r := range b.Namespaced {
				if err := roles.RoleBindings(r.Namespace).Delete(ctx, r.Name, metav1.DeleteOptions{}); err != nil {
					return err
				}
			}
			return nil
		},
		Revert: func(ctx context.Context, c *fault.Call, b *bindings) error {
			roles := c.Ground.Cluster.Client().RbacV1()
			for _, r := range b.Cluster {
				r.ObjectMeta = fresh(r.ObjectMeta)
				_, err := roles.ClusterRoleBindings().Create(ctx, &r, metav1.CreateOptions{})
				if err := unless(err, apierrors.IsAlreadyExists); err != nil {
					return err
				}
			}
			for _, r := range b.Namespaced {
				r.ObjectMeta = fresh(r.ObjectMeta)
				_, err := roles.RoleBindings(r.Namespace).Create(ctx, &r, metav1.CreateOptions{})
				if err := unless(err, apierrors.IsAlreadyExists); err != nil {
					return err
				}
			}
			return nil
		},
	})
}

func (b bindings) String() string {
	var names []string
	for _, r := range b.Cluster {
		names = append(names, "ClusterRoleBinding "+r.Name)
	}
	for _, r := range b.Namespaced {
		names = append(names, "RoleBinding "+r.Namespace+"/"+r.Name)
	}
	if len(names) == 0 {
		return "no binding"
	}
	return strings.Join(names, ", ")
}

// verbs lists the verbs that "*" stands for.
func verbs() []string {
	return []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}
}

// without returns rules that no longer allow a verb on a resource, in any group; an empty verb stands for all. It keeps
// everything else, including what a rule allows on all resources ("*").
func without(rules []rbacv1.PolicyRule, resource, verb string) (left []rbacv1.PolicyRule, changed bool) {
	for _, r := range rules {
		matters := slices.Contains(r.Resources, resource) && (verb == "" || slices.Contains(r.Verbs, verb) || slices.Contains(r.Verbs, rbacv1.VerbAll))
		if !matters {
			left = append(left, r)
			continue
		}
		changed = true
		if others := dropped(r.Resources, resource); len(others) > 0 {
			other := *r.DeepCopy()
			other.Resources = others
			left = append(left, other)
		}
		rest := r.Verbs
		if slices.Contains(rest, rbacv1.VerbAll) {
			rest = verbs()
		}
		if rest = dropped(rest, verb); verb != "" && len(rest) > 0 {
			same := *r.DeepCopy()
			same.Resources, same.Verbs = []string{resource}, rest
			left = append(left, same)
		}
	}
	return left, changed
}

func dropped(list []string, s string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(other string) bool { return other == s })
}

// narrowed is a role that lost rules: a ClusterRole if Namespace is empty.
type narrowed struct {
	Namespace string              `json:"namespace,omitempty"`
	Name      string              `json:"name"`
	Before    []rbacv1.PolicyRule `json:"before"`
	After     []rbacv1.PolicyRule `json:"after"`
}

func (n narrowed) String() string {
	if n.Namespace == "" {
		return "ClusterRole " + n.Name
	}
	return "Role " + n.Namespace + "/" + n.Name
}

func ruleRemoved() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "rbac.rule-removed", Object: fault.Sandbox, Needs: []fault.Need{fault.Clustered}, Aspect: "rbac",
		Short: "forbids a component a resource, or one verb on it",
		Long: "The rule is taken out of every role that the component's ServiceAccount is bound to, and nothing else: as a role that was written for an older " +
			"release. A watch that runs is not ended. Healing puts the rules back exactly; a role that was written since is left alone.",
		Params: []fault.Param{
			{Name: "resource", Short: "what it may not touch any more: nodes, nodes/status, secrets, events, leases", Type: fault.Text, Required: true},
			{Name: "verb", Short: "what it may not do to it; everything, if none is given", Type: fault.Text},
			accountParam(),
		},
		Reported: []string{"cloud-provider-vsphere#1415", "cloud-provider-vsphere#1716"},
	}, fault.Steps[[]narrowed]{
		Plan:  planRules,
		Apply: applyRules,
		Revert: func(ctx context.Context, c *fault.Call, list *[]narrowed) error {
			for _, n := range *list {
				if err := n.swap(ctx, c, n.After, n.Before); err != nil {
					return err
				}
			}
			return nil
		},
	})
}

func planRules(ctx context.Context, c *fault.Call) (list []narrowed, does string, err error) {
	who, err := account(c)
	if err != nil {
		return nil, "", err
	}
	b, err := bound(ctx, c, who)
	if err != nil {
		return nil, "", err
	}
	resource, verb := c.Params.Text("resource"), c.Params.Text("verb")
	seen := map[string]bool{}
	consider := func(ref rbacv1.RoleRef, namespace string) error {
		n := narrowed{Name: ref.Name}
		if ref.Kind == "Role" {
			n.Namespace = namespace
		}
		if seen[n.String()] {
			return nil
		}
		seen[n.String()] = true
		rules, err := n.read(ctx, c)
		if apierrors.IsNotFound(err) {
			return nil // the binding has no role
		}
		changed := false
		n.Before = rules
		if n.After, changed = without(rules, resource, verb); changed {
			list = append(list, n)
		}
		return err
	}
	for _, r := range b.Cluster {
		if err := consider(r.RoleRef, ""); err != nil {
			return nil, "", err
		}
	}
	for _, r := range b.Namespaced {
		if err := consider(r.RoleRef, r.Namespace); err != nil {
			return nil, "", err
		}
	}
	what := strings.TrimSpace(verb + " " + resource)
	if len(list) == 0 {
		return nil, "", fault.Refuse("ServiceAccount %s/%s: no rule allows it to %s", who.Namespace, who.Name, what)
	}
	return list, fmt.Sprintf("take %q out of %s", what, names(list)), nil
}

func names(list []narrowed) string {
	all := make([]string, len(list))
	for i, n := range list {
		all[i] = n.String()
	}
	return strings.Join(all, ", ")
}

func applyRules(ctx context.Context, c *fault.Call, list *[]narrowed) error {
	report(c, "rbac.changed", event.Object{Kind: "ServiceAccount", Name: c.Params.Text("component")}, "rules taken out of "+names(*list))
	for _, n := range *list {
		if err := n.swap(ctx, c, n.Before, n.After); err != nil {
			return err
		}
	}
	return nil
}

func (n narrowed) read(ctx context.Context, c *fault.Call) ([]rbacv1.PolicyRule, error) {
	roles := c.Ground.Cluster.Client().RbacV1()
	if n.Namespace == "" {
		r, err := roles.ClusterRoles().Get(ctx, n.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return r.Rules, nil
	}
	r, err := roles.Roles(n.Namespace).Get(ctx, n.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return r.Rules, nil
}

// swap changes the rules of a role from one set to another. It leaves a role with other rules, or without, alone.
func (n narrowed) swap(ctx context.Context, c *fault.Call, from, to []rbacv1.PolicyRule) error {
	roles := c.Ground.Cluster.Client().RbacV1()
	if n.Namespace == "" {
		r, err := roles.ClusterRoles().Get(ctx, n.Name, metav1.GetOptions{})
		if err != nil || !equality.Semantic.DeepEqual(r.Rules, from) {
			return unless(err, apierrors.IsNotFound)
		}
		r.Rules = to
		_, err = roles.ClusterRoles().Update(ctx, r, metav1.UpdateOptions{})
		return err
	}
	r, err := roles.Roles(n.Namespace).Get(ctx, n.Name, metav1.GetOptions{})
	if err != nil || !equality.Semantic.DeepEqual(r.Rules, from) {
		return unless(err, apierrors.IsNotFound)
	}
	r.Rules = to
	_, err = roles.Roles(n.Namespace).Update(ctx, r, metav1.UpdateOptions{})
	return err
}
