package objects

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// prefix is in the name of every role, since those of sidecars are not the driver's alone.
const prefix = "vsphere-csi:"

// Rights returns the ServiceAccounts and what each may do, no more: rules.go and rules_sidecars.go say what for. What is
// about nodes, volumes and claims of any namespace is in ClusterRoles, Secrets and Leases are in Roles and by name.
func Rights(c Config) []runtime.Object {
	c = c.withDefaults()
	var accounts, roles []runtime.Object
	for _, p := range processes() {
		if c.account(p.name) == p.name {
			accounts = append(accounts, &corev1.ServiceAccount{
				TypeMeta:   typeMeta(corev1.SchemeGroupVersion, "ServiceAccount"),
				ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: p.name},
			})
		}
		roles = append(roles, &rbacv1.ClusterRole{
			TypeMeta:   typeMeta(rbacv1.SchemeGroupVersion, "ClusterRole"),
			ObjectMeta: metav1.ObjectMeta{Name: prefix + p.name},
			Rules:      p.rules,
		}, &rbacv1.ClusterRoleBinding{
			TypeMeta:   typeMeta(rbacv1.SchemeGroupVersion, "ClusterRoleBinding"),
			ObjectMeta: metav1.ObjectMeta{Name: prefix + p.name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: prefix + p.name},
			Subjects:   c.subjects(p.name),
		})
		if c.LeaderElection && p.lease != "" {
			roles = append(roles, c.role(c.Namespace, p.name, "leader", leaseRules(p.lease))...)
		}
	}
	if len(c.SecretNames) > 0 {
		// The watch of each, and nothing of any other.
		roles = append(roles, c.role(c.SecretNamespace, Controller, "credentials", []rbacv1.PolicyRule{{
			APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: c.SecretNames, Verbs: []string{"list", "watch"},
		}})...)
	}
	return slices.Concat(accounts, roles)
}

// role is a Role and its binding, for what a process may do in one namespace.
func (c Config) role(namespace, process, what string, rules []rbacv1.PolicyRule) []runtime.Object {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: prefix + process + ":" + what}
	return []runtime.Object{
		&rbacv1.Role{TypeMeta: typeMeta(rbacv1.SchemeGroupVersion, "Role"), ObjectMeta: meta, Rules: rules},
		&rbacv1.RoleBinding{
			TypeMeta: typeMeta(rbacv1.SchemeGroupVersion, "RoleBinding"), ObjectMeta: meta,
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
			Subjects: c.subjects(process),
		},
	}
}

// account is whom a process runs as.
func (c Config) account(process string) string {
	if c.OnePod && process != Node && process != SnapshotController {
		return Controller
	}
	return process
}

func (c Config) subjects(process string) []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: c.Namespace, Name: c.account(process)}}
}

// leaseRules is what leader election does to its Lease. A create cannot be limited to a name.
func leaseRules(name string) []rbacv1.PolicyRule {
	const group, leases = "coordination.k8s.io", "leases"
	return []rbacv1.PolicyRule{
		{APIGroups: []string{group}, Resources: []string{leases}, Verbs: []string{"create"}},
		{APIGroups: []string{group}, Resources: []string{leases}, ResourceNames: []string{name}, Verbs: []string{"get", "update"}},
	}
}
