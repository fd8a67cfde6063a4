package rbac

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Config says for whom [Objects] makes them.
type Config struct {
	// Namespace and ServiceAccount are whom the cloud controller manager runs as.
	Namespace, ServiceAccount string
	// Pod is set when it runs in one, of Namespace, and is told so by POD_NAME: it writes events about it.
	Pod bool
	// SecretNamespace and SecretNames are where the credentials are; Namespace when SecretNamespace is empty. Without
	// names there is nothing to read. Their order and repetitions count for nothing.
	SecretNamespace string
	SecretNames     []string
	// LeaderElection is set when it runs with --leader-elect, its Lease in the namespace LeaseNamespace
	// (--leader-elect-resource-namespace; kube-system when empty).
	LeaderElection bool
	LeaseNamespace string
	// DelegatedAuth is set when its HTTPS port asks the API server who is there and what they may read: when it runs
	// without --authentication-skip-lookup and its --secure-port is not 0.
	DelegatedAuth bool
	// Roles is what the names of all roles and bindings begin with, where they are to be told from those of a cloud controller
	// manager that the cluster has already; "" for the usual names.
	Roles string
}

// Objects returns the ServiceAccount and everything that it must be allowed, no more: a ClusterRole for nodes, and Roles
// for the rest in the namespaces where it is. What it does beyond these, discovery and /healthz, every authenticated
// account may do. manifests/ccm and the Helm chart hold the same objects; the sandbox creates these.
func Objects(c Config) []runtime.Object {
	if c.SecretNamespace == "" {
		c.SecretNamespace = c.Namespace
	}
	if c.LeaseNamespace == "" {
		c.LeaseNamespace = metav1.NamespaceSystem
	}
	c.SecretNames = slices.Compact(slices.Sorted(slices.Values(c.SecretNames)))
	name, wide := roleName, "system:"+roleName
	if c.Roles != "" {
		name, wide = c.Roles, c.Roles // "system:" is for what belongs to a cluster
	}
	objects := []runtime.Object{
		&corev1.ServiceAccount{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
			ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.ServiceAccount},
		},
		&rbacv1.ClusterRole{
			TypeMeta:   typeMeta("ClusterRole"),
			ObjectMeta: metav1.ObjectMeta{Name: wide},
			Rules:      nodeRules(),
		},
		c.clusterBinding(wide, wide),
		// Events about Nodes, which have no namespace, are written to "default": by every controller.
		c.role(metav1.NamespaceDefault, name+":events", eventRules()...),
		c.binding(metav1.NamespaceDefault, name+":events", name+":events"),
	}
	if len(c.SecretNames) > 0 {
		objects = append(objects,
			c.role(c.SecretNamespace, name+":credentials", rbacv1.PolicyRule{ // the watch of each, and nothing of any other
				APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: c.SecretNames,
				Verbs: []string{"list", "watch"},
			}),
			c.binding(c.SecretNamespace, name+":credentials", name+":credentials"))
	}
	if c.LeaderElection {
		objects = append(objects,
			c.role(c.LeaseNamespace, name+":leader", leaderRules()...),
			c.binding(c.LeaseNamespace, name+":leader", name+":leader"))
	}
	for _, namespace := range c.eventNamespaces() {
		objects = append(objects,
			c.role(namespace, name+":events", eventRules()...),
			c.binding(namespace, name+":events", name+":events"))
	}
	if c.DelegatedAuth { // roles that every cluster has: to review tokens and access, and to read the client CA
		objects = append(objects,
			c.clusterBinding(wide+":auth", "system:auth-delegator"),
			c.binding(metav1.NamespaceSystem, name+":auth", "extension-apiserver-authentication-reader"))
	}
	return objects
}

// roleName is in the name of every role and binding. A cluster has one cloud controller manager for vSphere.
const roleName = "vsphere-cloud-controller-manager"

// nodeRules is what the two controllers of k8s.io/cloud-provider do to nodes.
func nodeRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		// get: both, before every patch. list, watch: their shared informer, which lists only where the API server does not
		// send a watch what there is (before Kubernetes 1.34). update: cloud-node, to initialize a node (controllers/node,
		// syncNode). patch: cloud-node for labels, cloud-node-lifecycle for the shutdown taint, the
		// provider for its annotation (provider.VMAnnotation). delete:
		// cloud-node-lifecycle, for a node whose VM is gone.
		{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get", "list", "watch", "update", "patch", "delete"}},
		// cloud-node, for addresses (controllers/node, updateNodeAddress).
		{APIGroups: []string{""}, Resources: []string{"nodes/status"}, Verbs: []string{"patch"}},
	}
}

// eventRules is what an event recorder does: create, and patch when it happens again.
func eventRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}}}
}

// eventNamespaces are those, besides "default", of what events are about: who leads, whether a login is refused, what
// became of a changed configuration.
func (c Config) eventNamespaces() []string {
	var all []string
	if c.Pod {
		all = append(all, c.Namespace)
	}
	if len(c.SecretNames) > 0 {
		all = append(all, c.SecretNamespace)
	}
	if c.LeaderElection {
		all = append(all, c.LeaseNamespace)
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(namespace string) bool { return namespace == metav1.NamespaceDefault })
}

// leaderRules is what leader election does to its Lease. A create cannot be limited to a name.
func leaderRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"create"}},
		{
			APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"},
			ResourceNames: []string{"cloud-controller-manager"}, Verbs: []string{"get", "update"},
		},
	}
}

func (c Config) role(namespace, name string, rules ...rbacv1.PolicyRule) *rbacv1.Role {
	return &rbacv1.Role{
		TypeMeta:   typeMeta("Role"),
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Rules:      rules,
	}
}

func (c Config) binding(namespace, name, role string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		TypeMeta:   typeMeta("RoleBinding"),
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role},
		Subjects:   c.subjects(),
	}
}

func (c Config) clusterBinding(name, role string) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		TypeMeta:   typeMeta("ClusterRoleBinding"),
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   c.subjects(),
	}
}

func (c Config) subjects() []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: c.Namespace, Name: c.ServiceAccount}}
}

func typeMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind}
}
