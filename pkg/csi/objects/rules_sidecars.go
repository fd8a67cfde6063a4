package objects

import rbacv1 "k8s.io/api/rbac/v1"

// The rules of the sidecars are those that upstream's deploy/kubernetes/rbac.yaml has in each repository, less what is for
// features that this driver has no use for (capacity, clones, secrets in classes, group snapshots, modification of volumes)
// and less what the code of the releases in go.mod does not do.

func provisionerRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		// patch: the finalizer that says that the volume is still to be deleted.
		rule(core, "persistentvolumes", "list", "watch", "create", "patch", "delete"),
		// update: finalizers and the chosen node, which is taken back when there is no room.
		rule(core, "persistentvolumeclaims", "list", "watch", "update"),
		rule(storage, "storageclasses", "list", "watch"),
		// Topology: which labels of which nodes count.
		rule(core, "nodes", "list", "watch"),
		rule(storage, "csinodes", "list", "watch"),
		// A volume is deleted when it is attached nowhere.
		rule(storage, "volumeattachments", "list", "watch"),
		// A volume from a snapshot. list, watch, update: finalizers of snapshots that are being restored.
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
		// No pods: with --handle-volume-inuse-error=false, since the driver expands volumes that are in use.
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
