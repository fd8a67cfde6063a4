package csi

import (
	"cmp"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/guestfiles"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/objects"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/ccm"
	sv "github.com/vsphere-sandbox/vsphere-sandbox/pkg/supervisor"
)

// supervisorFeatures is the ConfigMap with the switches of the Supervisor's driver, which a Supervisor copies into guest clusters.
const supervisorFeatures = "csi-feature-states"

// guestFeature is a switch that manifests of the guest flavor have and no others: the program ends without it.
const guestFeature = "csi-sv-feature-states-replication"

// supervisorFeatureStates are those of this Supervisor: what is off does not work there.
func supervisorFeatureStates() map[string]string {
	return map[string]string{
		"tkgs-ha": "true", "online-volume-extend": "true", "sv-pvc-snapshot-protection-finalizer": "true", "cnsmgr-suspend-create-volume": "true",
		"block-volume-snapshot": "false", "file-volume": "false", "workload-domain-isolation": "false", "linked-clone-support": "false",
	}
}

// asGuest reports whether a driver asks the Supervisor: upstream's has a flavor that does, this project's asks the vCenter.
func (d *Driver) asGuest(o Options) bool { return d.Guest != nil && o.foreign() }

// inGuest makes a program of upstream's driver one of a guest cluster: with its flavor, its files and the Supervisor's name.
func (d *Driver) inGuest(spec child.Spec, o Options) child.Spec {
	e, err := d.Guest()
	if err != nil { // the Supervisor starts before the driver
		d.Logger.Error("CSI driver", "err", err)
		return spec
	}
	files := guestfiles.Files{
		Host: e.HostEtc,
		Links: map[string]string{
			"cloud/pvcsi-provider": filepath.Join(e.Dir, sv.StorageCredentialsDir),
			"cloud/pvcsi-config":   filepath.Join(e.Dir, filepath.Dir(sv.StorageConfigFile)),
		},
		Hosts: []string{e.Address + " " + sv.Host},
	}
	config := d.dir("guest-files.json")
	if err := child.WriteConfig(config, files); err != nil {
		d.Logger.Error("CSI driver", "err", err)
		return spec
	}
	spec.Args = append(spec.Args, "--supervisor-fss-name="+supervisorFeatures, "--supervisor-fss-namespace="+objects.DefaultNamespace)
	return child.Spec{
		Name: spec.Name, Mounts: true, Args: append([]string{ccm.GuestCommand, "--config=" + config, "--", spec.Path}, spec.Args...),
		Env: append(spec.Env, "CLUSTER_FLAVOR=GUEST_CLUSTER", "GC_CONFIG="+cmp.Or(o.ConfigFile, "/etc/cloud/"+sv.StorageConfigFile),
			"PROVISION_TIMEOUT_MINUTES=4", "ATTACHER_TIMEOUT_MINUTES=4", "RESIZE_TIMEOUT_MINUTES=4"),
	}
}

// classes are the StorageClasses of a driver in a guest cluster.
func (d *Driver) classes(o Options) []*storagev1.StorageClass {
	if d.asGuest(o) {
		return d.guestClasses()
	}
	return objects.StorageClasses(d.Config())
}

// guestClasses are the StorageClasses of a guest cluster: two for each storage policy of its namespace, with the name of the
// Supervisor's StorageClass, and one that creates a volume where the pod is scheduled: of the first policy, it is the default.
func (d *Driver) guestClasses() (all []*storagev1.StorageClass) {
	s := d.Topology.Spec.Supervisor
	for _, n := range s.Namespaces {
		if n.Name != s.GuestClusters[0].Namespace {
			continue
		}
		for _, policy := range n.StoragePolicies {
			name := sv.StorageClassName(policy)
			all = append(all, guestClass(name, name, storagev1.VolumeBindingImmediate), guestClass(name+"-latebinding", name, storagev1.VolumeBindingWaitForFirstConsumer))
		}
	}
	if len(all) > 0 {
		all[1].Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
	}
	return all
}

func guestClass(name, of string, mode storagev1.VolumeBindingMode) *storagev1.StorageClass {
	return &storagev1.StorageClass{
		TypeMeta:    metav1.TypeMeta{APIVersion: storagev1.SchemeGroupVersion.String(), Kind: "StorageClass"},
		ObjectMeta:  metav1.ObjectMeta{Name: name},
		Provisioner: names.Driver, Parameters: map[string]string{"svStorageClass": of},
		ReclaimPolicy: new(corev1.PersistentVolumeReclaimDelete), AllowVolumeExpansion: new(true), VolumeBindingMode: &mode,
	}
}

// upstreamGuestRights are those of manifests/guestcluster/1.34/pvcsi.yaml in vsphere-csi-driver v3.7.0.
func upstreamGuestRights() rights {
	const storage, cns, snapshots = "storage.k8s.io", "cns.vmware.com", "snapshot.storage.k8s.io"
	rule := func(group, resource string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
	}
	return rights{
		features: map[string]string{
			"online-volume-extend": "true", "file-volume": "true", guestFeature: "false", "block-volume-snapshot": "true",
			"tkgs-ha": "true", "cnsmgr-suspend-create-volume": "true", "csi-windows-support": "true", "workload-domain-isolation": "true",
			"sv-pvc-snapshot-protection-finalizer": "true", "linked-clone-support": "true",
		},
		cluster: []rbacv1.PolicyRule{
			rule("", "nodes", "get", "list", "watch"),
			rule("", "pods", "get", "list", "watch"),
			rule("", "configmaps", "get", "list", "watch"),
			rule("", "persistentvolumeclaims", "get", "list", "watch", "update"),
			rule("", "persistentvolumeclaims/status", "update", "patch"),
			rule("", "persistentvolumes", "get", "list", "watch", "create", "update", "delete", "patch"),
			rule("", "events", "get", "list", "watch", "create", "update", "patch"),
			rule("coordination.k8s.io", "leases", "get", "watch", "list", "delete", "update", "create"),
			rule(storage, "storageclasses", "get", "list", "watch"),
			rule(storage, "csinodes", "get", "list", "watch"),
			rule(storage, "csistoragecapacities", "create", "get", "list", "watch", "update", "delete", "patch"),
			rule(storage, "volumeattachments", "get", "list", "watch", "update", "patch"),
			rule(storage, "volumeattachments/status", "patch"),
			rule(cns, "triggercsifullsyncs", "create", "get", "update", "watch", "list"),
			rule(cns, "csinodetopologies", "get", "update", "watch", "list"),
			rule("apiextensions.k8s.io", "customresourcedefinitions", "get", "create", "update"),
			rule(snapshots, "volumesnapshots", "get", "list", "patch"),
			rule(snapshots, "volumesnapshotclasses", "watch", "get", "list"),
			rule(snapshots, "volumesnapshotcontents", "create", "get", "list", "watch", "update", "delete", "patch"),
			rule(snapshots, "volumesnapshotcontents/status", "update", "patch"),
		},
	}
}
