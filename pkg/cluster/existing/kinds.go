package existing

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// resourceOf returns the API resource of a kind, without discovery: the kinds are those of a sandbox's objects.
func resourceOf(kind schema.GroupVersionKind) (schema.GroupVersionResource, error) {
	for _, k := range kinds() {
		if k.kind == kind.Kind && k.resource.Group == kind.Group {
			return k.resource, nil
		}
	}
	return schema.GroupVersionResource{}, fmt.Errorf("%s: a sandbox has no objects of this kind", kind)
}

// made is a kind of a sandbox's objects.
type made struct {
	kind     string
	resource schema.GroupVersionResource
	// wide is set for cluster-scoped kinds.
	wide bool
}

// kinds returns the kinds of a sandbox's objects in the order of their removal: controllers before what they manage,
// their permissions after it, and namespaces last.
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
