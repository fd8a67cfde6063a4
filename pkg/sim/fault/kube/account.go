package kube

import (
	"context"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
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
		Name: "rbac.binding-removed", Object: fault.Sandbox, Needs: []fault.Need{fault.Clustered}, Touches: "rbac",
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
