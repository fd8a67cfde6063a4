package fleet

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Account is the name of the program's ServiceAccount, roles and bindings.
const Account = "vsphere-light-nodes"

// Rights returns the program's permissions in the cluster: those of kubelets, as far as light nodes need them.
func Rights() []rbacv1.PolicyRule {
	core := []string{corev1.GroupName}
	return []rbacv1.PolicyRule{
		{APIGroups: core, Resources: []string{"nodes"}, Verbs: []string{"get", "list", "watch", "create"}},
		{APIGroups: core, Resources: []string{"nodes/status"}, Verbs: []string{"patch"}},
		{APIGroups: core, Resources: []string{"pods"}, Verbs: []string{"list", "watch", "delete"}},
		{APIGroups: core, Resources: []string{"pods/status"}, Verbs: []string{"patch"}},
	}
}

// LeaseRights returns its permissions in the namespace of nodes' Leases, kube-node-lease.
func LeaseRights() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "create", "update"}},
	}
}

// Objects returns the ServiceAccount, in a namespace, and its roles and bindings.
func Objects(namespace string) []runtime.Object {
	meta := metav1.ObjectMeta{Name: Account}
	leases := metav1.ObjectMeta{Name: Account, Namespace: corev1.NamespaceNodeLease}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: Account}}
	role := func(kind string) rbacv1.RoleRef {
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: Account}
	}
	return []runtime.Object{
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: Account, Namespace: namespace}},
		&rbacv1.ClusterRole{ObjectMeta: meta, Rules: Rights()},
		&rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: role("ClusterRole"), Subjects: subjects},
		&rbacv1.Role{ObjectMeta: leases, Rules: LeaseRights()},
		&rbacv1.RoleBinding{ObjectMeta: leases, RoleRef: role("Role"), Subjects: subjects},
	}
}
