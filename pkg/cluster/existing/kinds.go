package existing

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// resourceOf is where the API has objects of a kind. No discovery is asked: the kinds are those that a sandbox makes.
func resourceOf(kind schema.GroupVersionKind) (schema.GroupVersionResource, error) {
	for _, k := range kinds() {
		if k.kind == kind.Kind && k.resource.Group == kind.Group {
			return k.resource, nil
		}
	}
	return schema.GroupVersionResource{}, fmt.Errorf("%s: no kind that a sandbox is made of", kind)
}

// made is a kind of objects that a sandbox makes.
type made struct {
	kind     string
	resource schema.GroupVersionResource
	// wide: objects of it have no namespace.
	wide bool
}

// kinds are those of which a sandbox makes objects, in the order in which they go: what acts before what it acts on, its rights
// after it, and namespaces last.
func kinds() []made {
	of := func(wide bool, group, kind, resource string) made {
		return made{kind, schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}, wide}
	}
	const rbac = "rbac.authorization.k8s.io"
	return []made{
		of(false, "apps", "Deployment", "deployments"),
		of(false, "apps", "DaemonSet", "daemonsets"),
		of(false, "apps", "StatefulSet", "statefulsets"),
		of(true, "", "Node", "nodes"),
		of(false, "discovery.k8s.io", "EndpointSlice", "endpointslices"),
		of(false, "", "Service", "services"),
		of(false, "", "ConfigMap", "configmaps"),
		of(false, "", "Secret", "secrets"),
		of(false, "coordination.k8s.io", "Lease", "leases"),
		of(false, rbac, "RoleBinding", "rolebindings"),
		of(false, rbac, "Role", "roles"),
		of(true, rbac, "ClusterRoleBinding", "clusterrolebindings"),
		of(true, rbac, "ClusterRole", "clusterroles"),
		of(false, "", "ServiceAccount", "serviceaccounts"),
		of(true, "", "Namespace", "namespaces"),
	}
}
