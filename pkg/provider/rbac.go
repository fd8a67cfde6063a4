package provider

import (
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// RBACConfig says for whom [RBAC] makes its objects.
type RBACConfig struct {
	// Namespace and ServiceAccount are whom the cloud controller manager runs as.
	Namespace, ServiceAccount string
	// SecretNamespace and SecretNames are where the credentials are; Namespace when SecretNamespace is empty. Without
	// names there is nothing to read.
	SecretNamespace string
	SecretNames     []string
	// LeaderElection is set when it runs with --leader-elect, its Lease in the namespace LeaseNamespace
	// (--leader-elect-resource-namespace; kube-system when empty).
	LeaderElection bool
	LeaseNamespace string
}

// RBAC returns the ServiceAccount and everything that it must be allowed, no more: a ClusterRole for nodes, and Roles
// for the rest in the namespaces where it is. What it does beyond these, discovery and /healthz, every authenticated
// account may do. Delegated authentication of its own HTTPS port is not part of it: run it with
// --authentication-skip-lookup, or with --secure-port=0.
func RBAC(c RBACConfig) []runtime.Object {
	if c.SecretNamespace == "" {
		c.SecretNamespace = c.Namespace
	}
	if c.LeaseNamespace == "" {
		c.LeaseNamespace = metav1.NamespaceSystem
	}
	name := "vsphere-cloud-controller-manager"
	objects := []runtime.Object{
		&v1.ServiceAccount{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
			ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.ServiceAccount},
		},
		&rbacv1.ClusterRole{
			TypeMeta:   typeMeta("ClusterRole"),
			ObjectMeta: metav1.ObjectMeta{Name: "system:" + name},
			Rules:      nodeRules(),
		},
		&rbacv1.ClusterRoleBinding{
			TypeMeta:   typeMeta("ClusterRoleBinding"),
			ObjectMeta: metav1.ObjectMeta{Name: "system:" + name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:" + name},
			Subjects:   c.subjects(),
		},
		// Events about Nodes, which have no namespace, are written to "default": both controllers.
		c.role(metav1.NamespaceDefault, name+":events", eventRules()...),
		c.binding(metav1.NamespaceDefault, name+":events"),
	}
	if len(c.SecretNames) > 0 {
		rules := []rbacv1.PolicyRule{{ // the watch of each Secret, and nothing of any other
			APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: c.SecretNames,
			Verbs: []string{"get", "list", "watch"},
		}}
		if c.SecretNamespace != metav1.NamespaceDefault {
			rules = append(rules, eventRules()...) // events about that Secret
		}
		objects = append(objects,
			c.role(c.SecretNamespace, name+":credentials", rules...),
			c.binding(c.SecretNamespace, name+":credentials"))
	}
	if c.LeaderElection {
		objects = append(objects,
			c.role(c.LeaseNamespace, name+":leader", leaderRules()...),
			c.binding(c.LeaseNamespace, name+":leader"))
	}
	return objects
}

// nodeRules is what the two controllers of k8s.io/cloud-provider do to nodes.
func nodeRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		// get: both, before every patch. list, watch: their shared informer. update: cloud-node, to initialize a node
		// (controllers/node, syncNode). patch: cloud-node for labels, cloud-node-lifecycle for the shutdown taint.
		// delete: cloud-node-lifecycle, for a node whose VM is gone.
		{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get", "list", "watch", "update", "patch", "delete"}},
		// cloud-node, for addresses (controllers/node, updateNodeAddress).
		{APIGroups: []string{""}, Resources: []string{"nodes/status"}, Verbs: []string{"patch"}},
	}
}

// eventRules is what an event recorder does: create, and patch when it happens again.
func eventRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}}}
}

// leaderRules is what leader election does to its Lease. A create cannot be limited to a name. The events say who leads.
func leaderRules() []rbacv1.PolicyRule {
	return append([]rbacv1.PolicyRule{
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"create"}},
		{
			APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"},
			ResourceNames: []string{"cloud-controller-manager"}, Verbs: []string{"get", "update"},
		},
	}, eventRules()...)
}

func (c RBACConfig) role(namespace, name string, rules ...rbacv1.PolicyRule) *rbacv1.Role {
	return &rbacv1.Role{
		TypeMeta:   typeMeta("Role"),
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Rules:      rules,
	}
}

func (c RBACConfig) binding(namespace, role string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		TypeMeta:   typeMeta("RoleBinding"),
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role},
		Subjects:   c.subjects(),
	}
}

func (c RBACConfig) subjects() []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: c.Namespace, Name: c.ServiceAccount}}
}

func typeMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind}
}
