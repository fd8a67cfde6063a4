package objects

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
)

// component is a process with permissions.
type component struct {
	name  string
	lease string // the name of its Lease, if it supports leader election
	rules []rbacv1.PolicyRule
}

func components() []component {
	driver := strings.ReplaceAll(names.Driver, ".", "-") // as in the names of Leases
	return []component{
		{name: Controller, rules: controllerRules()},
		{name: Node, rules: nodeRules()},
		{Provisioner, driver, provisionerRules()},
		{Attacher, "external-attacher-leader-" + driver, attacherRules()},
		{Resizer, "external-resizer-" + driver, resizerRules()},
		{Snapshotter, "external-snapshotter-leader-" + driver, snapshotterRules()},
		{SnapshotController, "snapshot-controller-leader", snapshotControllerRules()},
	}
}

// controllerLease is that of several controllers, as upstream names the one of its syncers.
const controllerLease = "vsphere-syncer"

// Lease returns the name of the Lease by which processes with a ServiceAccount elect a leader, as upstream names it; "" for none.
func Lease(account string) string {
	if account == Controller {
		return controllerLease
	}
	all := components()
	if i := slices.IndexFunc(all, func(c component) bool { return c.name == account }); i >= 0 {
		return all[i].lease
	}
	return ""
}

func rule(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

// events are the permissions of an event recorder: create, and patch for a repeated event, in the namespaces of the objects.
func events() rbacv1.PolicyRule { return rule(core, "events", "create", "patch") }

// controllerRules are the permissions of pkg/csi as a controller. list, watch: informers, which list only if the API server does
// not stream the initial list (before Kubernetes 1.34).
func controllerRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		// pkg/csi/nodes: the VMs of nodes; patch: pkg/csi/nodetopology, changed labels.
		rule(core, "nodes", "list", "watch", "patch"),
		// pkg/csi/nodetopology: answers; update: the kind has no status subresource.
		rule(vmware, "csinodetopologies", "list", "watch", "update"),
		// pkg/csi/migrated: the volumes of the in-tree provider's disks.
		rule(vmware, "cnsvspherevolumemigrations", "list", "create", "delete"),
		// pkg/csi/syncer: the objects in CNS's records, and requests for a full sync.
		rule(core, "persistentvolumes", "list", "watch"),
		rule(core, "persistentvolumeclaims", "list", "watch", "patch"), // their health
		rule(core, "pods", "list", "watch"),
		rule(vmware, "triggercsifullsyncs", "get", "list", "watch", "create", "update"),
		// The cluster's UID, if no cluster-id is configured.
		{APIGroups: []string{core}, Resources: []string{"namespaces"}, ResourceNames: []string{metav1.NamespaceSystem}, Verbs: []string{"get"}},
		events(),
	}
}

// nodeRules are the permissions of the driver on a node: it requests its topology with an object that the Node owns.
func nodeRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		rule(core, "nodes", "get"),
		rule(vmware, "csinodetopologies", "get", "watch", "create", "patch"),
	}
}

func provisionerRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		// patch: the finalizer of volumes that must still be deleted.
		rule(core, "persistentvolumes", "list", "watch", "create", "patch", "delete"),
		// update: finalizers and the selected node, which is removed if there is no capacity.
		rule(core, "persistentvolumeclaims", "list", "watch", "update"),
		rule(storage, "storageclasses", "list", "watch"),
		// Topology: the labels of nodes.
		rule(core, "nodes", "list", "watch"),
		rule(storage, "csinodes", "list", "watch"),
		// A volume is deleted after it is detached everywhere.
		rule(storage, "volumeattachments", "list", "watch"),
		// Volumes from snapshots. list, watch, update: finalizers of snapshots that are being restored.
		rule(snapshots, "volumesnapshots", "get", "list", "watch", "update"),
		rule(snapshots, "volumesnapshotcontents", "get"),
		events(),
	}
}

func attacherRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		rule(core, "persistentvolumes", "list", "watch", "patch"), // its finalizer
		rule(storage, "csinodes", "list", "watch"),
		rule(storage, "volumeattachments", "list", "watch", "patch"),
		rule(storage, "volumeattachments/status", "patch"),
	}
}

func resizerRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		rule(core, "persistentvolumes", "list", "watch", "patch"),
		rule(core, "persistentvolumeclaims", "list", "watch"),
		rule(core, "persistentvolumeclaims/status", "patch"),
		// No pods: with --handle-volume-inuse-error=false, because the driver expands volumes in use.
		events(),
	}
}

func snapshotterRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		rule(snapshots, "volumesnapshotclasses", "list", "watch"),
		rule(snapshots, "volumesnapshotcontents", "get", "list", "watch", "patch"),
		rule(snapshots, "volumesnapshotcontents/status", "update", "patch"),
		events(),
	}
}

func snapshotControllerRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		rule(core, "persistentvolumes", "get", "list", "watch"),
		rule(core, "persistentvolumeclaims", "get", "list", "watch", "update"), // the finalizer while a snapshot is taken
		rule(snapshots, "volumesnapshotclasses", "list", "watch"),
		rule(snapshots, "volumesnapshots", "get", "list", "watch", "update", "patch"),
		rule(snapshots, "volumesnapshots/status", "update"),
		rule(snapshots, "volumesnapshotcontents", "list", "watch", "create", "patch", "delete"),
		events(),
	}
}

// prefix is the prefix of every role, because other drivers have the same sidecars.
const prefix = "vsphere-csi:"

// Rights returns the ServiceAccounts with exactly the permissions they need: ClusterRoles for nodes, volumes and claims in all
// namespaces, and Roles for named Secrets and Leases.
func Rights(c Config) []runtime.Object {
	c = c.withDefaults()
	var accounts, roles []runtime.Object
	for _, p := range components() {
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
		if c.Replicas && p.name == Controller {
			roles = append(roles, c.role(c.Namespace, p.name, "leader", leaseRules(controllerLease))...)
		}
		if c.LeaderElection && p.lease != "" {
			roles = append(roles, c.role(c.Namespace, p.name, "leader", leaseRules(p.lease))...)
		}
		if c.Capacity && p.name == Provisioner {
			roles = append(roles, c.role(c.Namespace, p.name, "capacity", []rbacv1.PolicyRule{
				rule(storage, "csistoragecapacities", "list", "watch", "create", "update", "delete"),
			})...)
		}
	}
	if len(c.SecretNames) > 0 {
		// To watch each of these, and no other.
		roles = append(roles, c.role(c.SecretNamespace, Controller, "credentials", []rbacv1.PolicyRule{{
			APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: c.SecretNames, Verbs: []string{"list", "watch"},
		}})...)
	}
	return slices.Concat(accounts, roles)
}

// role returns a Role with its binding.
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

// account returns the ServiceAccount of a process.
func (c Config) account(process string) string {
	if c.OnePod && process != Node && process != SnapshotController {
		return Controller
	}
	return process
}

func (c Config) subjects(process string) []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: c.Namespace, Name: c.account(process)}}
}

// leaseRules are the permissions of leader election on its Lease. A create cannot be limited to a name.
func leaseRules(name string) []rbacv1.PolicyRule {
	const group, leases = "coordination.k8s.io", "leases"
	return []rbacv1.PolicyRule{
		{APIGroups: []string{group}, Resources: []string{leases}, Verbs: []string{"create"}},
		{APIGroups: []string{group}, Resources: []string{leases}, ResourceNames: []string{name}, Verbs: []string{"get", "update"}},
	}
}
