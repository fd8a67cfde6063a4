package rbac

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Config is the configuration of [Objects].
type Config struct {
	// Namespace and ServiceAccount are the account of the cloud controller manager.
	Namespace, ServiceAccount string
	// Pod reports that it runs in a Pod of Namespace with POD_NAME set, so that it writes Events about that Pod.
	Pod bool
	// SecretNamespace and SecretNames are the Secrets with the credentials, in Namespace when SecretNamespace is empty.
	// Order and duplicates do not matter.
	SecretNamespace string
	SecretNames     []string
	// LeaderElection reports that it runs with --leader-elect and its Lease is in LeaseNamespace
	// (--leader-elect-resource-namespace; kube-system when empty).
	LeaderElection bool
	LeaseNamespace string
	// LoadBalancers says what makes the load balancers of Services; "" if it makes none.
	LoadBalancers LoadBalancers
	// DelegatedAuth reports that its HTTPS port authenticates and authorizes clients with the API server: it runs without
	// --authentication-skip-lookup and with a --secure-port other than 0.
	DelegatedAuth bool
	// Roles is the prefix of the names of all roles and bindings, to distinguish them from those of another cloud controller
	// manager in the cluster; "" for the usual names.
	Roles string
}

// Objects returns the ServiceAccount and exactly the permissions it needs: a ClusterRole for Nodes and, with load balancers,
// Services, and Roles for the rest in their namespaces. Every authenticated account may use discovery and /healthz. manifests/ccm and the Helm chart contain the
// same objects.
func Objects(c Config) []runtime.Object {
	c.SecretNamespace = cmp.Or(c.SecretNamespace, c.Namespace)
	c.LeaseNamespace = cmp.Or(c.LeaseNamespace, metav1.NamespaceSystem)
	c.SecretNames = slices.Compact(slices.Sorted(slices.Values(c.SecretNames)))
	name, wide := roleName, "system:"+roleName
	if c.Roles != "" {
		name, wide = c.Roles, c.Roles // "system:" is reserved for the cluster's own roles
	}
	objects := []runtime.Object{
		&corev1.ServiceAccount{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
			ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.ServiceAccount},
		},
		&rbacv1.ClusterRole{
			TypeMeta:   typeMeta("ClusterRole"),
			ObjectMeta: metav1.ObjectMeta{Name: wide},
			Rules:      c.clusterRules(),
		},
		c.clusterBinding(wide, wide),
		// Nodes have no namespace, so every controller writes Events about them to "default".
		c.role(metav1.NamespaceDefault, name+":events", eventRules()...),
		c.binding(metav1.NamespaceDefault, name+":events", name+":events"),
	}
	if len(c.SecretNames) > 0 {
		objects = append(objects,
			c.role(c.SecretNamespace, name+":credentials", rbacv1.PolicyRule{ // to watch each of these, and no other
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
	if c.DelegatedAuth { // with the roles that every cluster has: to review tokens and access, and to read the client CA
		objects = append(objects,
			c.clusterBinding(wide+":auth", "system:auth-delegator"),
			c.binding(metav1.NamespaceSystem, name+":auth", "extension-apiserver-authentication-reader"))
	}
	return objects
}

// roleName is part of the name of every role and binding. A cluster has one cloud controller manager for vSphere.
const roleName = "vsphere-cloud-controller-manager"

// LoadBalancers says what makes the load balancers of Services.
type LoadBalancers string

const (
	// OfSupervisor is for VirtualMachineServices, with --cloud-provider=vsphere-paravirtual.
	OfSupervisor LoadBalancers = "supervisor"
	// OfNSX is for a configuration with load balancers in NSX.
	OfNSX LoadBalancers = "nsx"
)

// clusterRules are the permissions on what has no namespace, or is in any.
func (c Config) clusterRules() []rbacv1.PolicyRule {
	rules := nodeRules()
	if c.LoadBalancers == "" {
		return rules
	}
	// The service controller's informer.
	services := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: []string{"list", "watch"}}
	if c.LoadBalancers == OfNSX { // what a Service has left in NSX is deleted once the API server confirms that the Service is gone
		services.Verbs = []string{"get", "list", "watch"}
	}
	rules = append(rules, services,
		// The addresses, and the finalizer (k8s.io/cloud-provider/service/helpers, PatchService).
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"services/status"}, Verbs: []string{"patch"}})
	if c.LoadBalancers == OfNSX { // its UID distinguishes the objects of this cluster in NSX from those of another one
		rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, ResourceNames: []string{metav1.NamespaceSystem}, Verbs: []string{"get"}})
	}
	return append(rules, eventRules()...) // about Services of any namespace
}

// nodeRules are the permissions that the two controllers of k8s.io/cloud-provider need on Nodes.
func nodeRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		// get: both, before every patch. list, watch: their shared informer, which lists only if the API server does not stream
		// the initial list (before Kubernetes 1.34). update: cloud-node, to initialize a node (controllers/node, syncNode).
		// patch: cloud-node for labels, cloud-node-lifecycle for the shutdown taint, the provider for its annotation
		// (provider.VMAnnotation). delete: cloud-node-lifecycle, for a node whose VM is gone.
		{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get", "list", "watch", "update", "patch", "delete"}},
		// cloud-node, for addresses (controllers/node, updateNodeAddress).
		{APIGroups: []string{""}, Resources: []string{"nodes/status"}, Verbs: []string{"patch"}},
	}
}

// eventRules are the permissions of an event recorder: create, and patch for a repeated event.
func eventRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}}}
}

// eventNamespaces returns the namespaces of Events other than "default": about leader election, refused logins and changed
// configurations.
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

// leaderRules are the permissions of leader election on its Lease. A create cannot be limited to a name.
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
