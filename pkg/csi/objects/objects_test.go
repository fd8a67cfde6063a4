package objects

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
)

// list returns "Kind namespace/name" of each.
func list(t *testing.T, objects []runtime.Object) []string {
	t.Helper()
	var all []string
	for _, o := range objects {
		m, err := meta.Accessor(o)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, o.GetObjectKind().GroupVersionKind().Kind+" "+m.GetNamespace()+"/"+m.GetName())
	}
	return all
}

// Every object exists once, in the order of creation.
func TestAll(t *testing.T) {
	objects, err := All(Config{Policies: []string{"Gold"}, SecretNames: []string{"b", "a", "b"}, SecretNamespace: "kube-system"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"Namespace /vmware-system-csi",
		"CustomResourceDefinition /csinodetopologies.cns.vmware.com",
		"CustomResourceDefinition /cnsvspherevolumemigrations.cns.vmware.com",
		"CustomResourceDefinition /triggercsifullsyncs.cns.vmware.com",
		"CustomResourceDefinition /volumesnapshotclasses.snapshot.storage.k8s.io",
		"CustomResourceDefinition /volumesnapshotcontents.snapshot.storage.k8s.io",
		"CustomResourceDefinition /volumesnapshots.snapshot.storage.k8s.io",
	}
	everyone := []string{Controller, Node, Provisioner, Attacher, Resizer, Snapshotter, SnapshotController}
	for _, name := range everyone {
		want = append(want, "ServiceAccount vmware-system-csi/"+name)
	}
	for _, name := range everyone {
		want = append(want, "ClusterRole /vsphere-csi:"+name, "ClusterRoleBinding /vsphere-csi:"+name)
	}
	want = append(want,
		"Role kube-system/vsphere-csi:vsphere-csi-controller:credentials", "RoleBinding kube-system/vsphere-csi:vsphere-csi-controller:credentials",
		"CSIDriver /csi.vsphere.vmware.com",
		"StorageClass /vsphere", "StorageClass /vsphere-immediate", "StorageClass /vsphere-gold", "VolumeSnapshotClass /vsphere",
	)
	if diff := cmp.Diff(want, list(t, objects)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	for _, o := range objects {
		if o.GetObjectKind().GroupVersionKind().Version == "" {
			t.Errorf("%T has no version", o)
		}
	}
}

// No permission has a wildcard, Secrets and Leases are by name, and only what has no namespace, or any, is cluster-wide.
func TestLeastPrivilege(t *testing.T) {
	for _, o := range Rights(Config{SecretNames: []string{"creds"}, LeaderElection: true}) {
		var rules []rbacv1.PolicyRule
		clusterWide := false
		switch o := o.(type) {
		case *rbacv1.ClusterRole:
			rules, clusterWide = o.Rules, true
		case *rbacv1.Role:
			rules = o.Rules
		}
		for _, r := range rules {
			if len(r.Resources) != 1 {
				t.Errorf("one resource at a time: %v", r)
			}
			all := slices.Concat(r.APIGroups, r.Resources, r.Verbs, r.ResourceNames)
			if slices.Contains(all, "*") || slices.Contains(all, "deletecollection") {
				t.Errorf("too much: %v", r)
			}
			named := len(r.ResourceNames) > 0
			switch r.Resources[0] {
			case "secrets":
				if clusterWide || !named {
					t.Errorf("Secrets: %v", r)
				}
			case "leases":
				if clusterWide || !named && !slices.Equal(r.Verbs, []string{"create"}) {
					t.Errorf("Leases: %v", r)
				}
			case "nodes":
				if slices.Contains(r.Verbs, "update") || slices.Contains(r.Verbs, "delete") {
					t.Errorf("nodes: %v", r)
				}
			}
		}
	}
}

// In one pod, the controller and its sidecars have one account with all roles.
func TestOnePod(t *testing.T) {
	var got []string
	for _, o := range Rights(Config{OnePod: true, Namespace: "csi"}) {
		if b, ok := o.(*rbacv1.ClusterRoleBinding); ok {
			s := b.Subjects[0]
			got = append(got, strings.TrimPrefix(b.RoleRef.Name, prefix)+": "+s.Namespace+"/"+s.Name)
		}
	}
	want := []string{
		"vsphere-csi-controller: csi/vsphere-csi-controller", "vsphere-csi-node: csi/vsphere-csi-node",
		"csi-provisioner: csi/vsphere-csi-controller", "csi-attacher: csi/vsphere-csi-controller",
		"csi-resizer: csi/vsphere-csi-controller", "csi-snapshotter: csi/vsphere-csi-controller",
		"snapshot-controller: csi/snapshot-controller",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("bindings (-want +got):\n%s", diff)
	}
}

// A policy with any name gets a class with a unique name.
func TestPolicyClasses(t *testing.T) {
	policies := []string{"Gold", "gold!", "vSAN Default Storage Policy", "immediate", "äöü", strings.Repeat("long ", 100)}
	want := []string{
		"vsphere", "vsphere-immediate", "vsphere-gold", "vsphere-gold-2", "vsphere-vsan-default-storage-policy",
		"vsphere-immediate-2", "vsphere-2", "vsphere" + strings.Repeat("-long", 46) + "-lo",
	}
	var got []string
	for i, c := range StorageClasses(Config{Policies: policies}) {
		got = append(got, c.Name)
		if problems := validation.IsDNS1123Subdomain(c.Name); problems != nil {
			t.Errorf("%q: %v", c.Name, problems)
		}
		if policy := c.Parameters["storagepolicyname"]; i >= 2 && policy != policies[i-2] {
			t.Errorf("%s: policy %q", c.Name, policy)
		}
		if (c.Annotations != nil) != (i == 0) || *c.AllowVolumeExpansion != true || c.Provisioner != "csi.vsphere.vmware.com" {
			t.Errorf("%s is %v", c.Name, c)
		}
		if immediate := *c.VolumeBindingMode == storagev1.VolumeBindingImmediate; immediate != (c.Name == ImmediateClass) {
			t.Errorf("%s: %s", c.Name, *c.VolumeBindingMode)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

// A configured group policy is used.
func TestDriver(t *testing.T) {
	for policy, want := range map[storagev1.FSGroupPolicy]storagev1.FSGroupPolicy{
		"":                          storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy,
		storagev1.NoneFSGroupPolicy: storagev1.NoneFSGroupPolicy,
	} {
		if got := *Driver(Config{FSGroupPolicy: policy}).Spec.FSGroupPolicy; got != want {
			t.Errorf("%q becomes %q", policy, got)
		}
	}
}

// Of several controllers, each has the right to the Lease; one, beside sidecars that elect, has none.
func TestReplicas(t *testing.T) {
	const role = "Role vmware-system-csi/vsphere-csi:vsphere-csi-controller:leader"
	if all := list(t, Rights(Config{LeaderElection: true})); slices.Contains(all, role) || len(all) == 0 {
		t.Errorf("one: %v", all)
	}
	if all := list(t, Rights(Config{LeaderElection: true, Replicas: true})); !slices.Contains(all, role) || !slices.Contains(all, "RoleBinding"+strings.TrimPrefix(role, "Role")) {
		t.Errorf("several: %v", all)
	}
	for account, lease := range map[string]string{Controller: "vsphere-syncer", Attacher: "external-attacher-leader-csi-vsphere-vmware-com", Node: ""} {
		if got := Lease(account); got != lease {
			t.Errorf("%s: %q", account, got)
		}
	}
}

// With capacity, the scheduler goes by CSIStorageCapacity objects, which the provisioner may write in its own namespace only.
func TestCapacity(t *testing.T) {
	if d := Driver(Config{}); d.Spec.StorageCapacity != nil {
		t.Errorf("without: %v", *d.Spec.StorageCapacity)
	}
	if d := Driver(Config{Capacity: true}); d.Spec.StorageCapacity == nil || !*d.Spec.StorageCapacity {
		t.Error("the scheduler does not go by the objects")
	}
	const role = "Role vmware-system-csi/vsphere-csi:csi-provisioner:capacity"
	if all := list(t, Rights(Config{})); slices.Contains(all, role) {
		t.Errorf("without: %v", all)
	}
	if all := list(t, Rights(Config{Capacity: true})); !slices.Contains(all, role) || !slices.Contains(all, "RoleBinding"+strings.TrimPrefix(role, "Role")) {
		t.Errorf("%v", all)
	}
}
