package objects

import (
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
)

// process is one that needs rights.
type process struct {
	name  string
	lease string // its name, when the process can elect a leader
	rules []rbacv1.PolicyRule
}

func processes() []process {
	driver := strings.ReplaceAll(names.Driver, ".", "-") // as Leases are called
	return []process{
		{name: Controller, rules: controllerRules()},
		{name: Node, rules: nodeRules()},
		{Provisioner, driver, provisionerRules()},
		{Attacher, "external-attacher-leader-" + driver, attacherRules()},
		{Resizer, "external-resizer-" + driver, resizerRules()},
		{Snapshotter, "external-snapshotter-leader-" + driver, snapshotterRules()},
		{SnapshotController, "snapshot-controller-leader", snapshotControllerRules()},
	}
}

// API groups.
const (
	core      = ""
	storage   = "storage.k8s.io"
	snapshots = "snapshot.storage.k8s.io"
	vmware    = "cns.vmware.com"
)

func rule(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

// events is what an event recorder does: create, and patch when it happens again. They are in the namespaces of what they
// are about.
func events() rbacv1.PolicyRule { return rule(core, "events", "create", "patch") }

// controllerRules is what pkg/csi does as a controller. list, watch: informers, which list only where the API server does
// not send a watch what there is (before Kubernetes 1.34).
func controllerRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		// pkg/csi/nodes, which VM a node is; patch: pkg/csi/nodetopology, labels that have changed.
		rule(core, "nodes", "list", "watch", "patch"),
		// pkg/csi/nodetopology, the answer; update: there is no status subresource.
		rule(vmware, "csinodetopologies", "list", "watch", "update"),
		// pkg/csi/migrated, which volume a disk of the in-tree provider has become.
		rule(vmware, "cnsvspherevolumemigrations", "list", "create", "delete"),
		// The cluster's UID tells its volumes from others', where no cluster-id is configured.
		{APIGroups: []string{core}, Resources: []string{"namespaces"}, ResourceNames: []string{metav1.NamespaceSystem}, Verbs: []string{"get"}},
		events(),
	}
}

// nodeRules is what the driver does on a node: ask for its topology with an object that the Node owns.
func nodeRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		rule(core, "nodes", "get"),
		rule(vmware, "csinodetopologies", "get", "watch", "create", "patch"),
	}
}
