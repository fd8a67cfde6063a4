package deploy

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

func deployed(t *testing.T, there ...runtime.Object) *rig {
	t.Helper()
	r := newRig(t, Options{}, there...)
	if err := errors.Join(
		r.CCM(t.Context(), CCM{Config: conf(), Image: "localhost/ccm:1"}),
		r.CSI(t.Context(), CSI{Config: conf(), Image: "localhost/csi:1", Sidecars: "localhost/s:1"}),
	); err != nil {
		t.Fatal(err)
	}
	r.did = nil
	return r
}

// With an instance everything that is written has it, and what has another, or none, is not removed.
func TestInstance(t *testing.T) {
	other := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: "other", Namespace: "kube-system", Labels: map[string]string{ManagedByLabel: ManagedBy, InstanceLabel: "other"},
	}}
	us := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "us", Namespace: Namespace, Labels: map[string]string{ManagedByLabel: ManagedBy}}}
	r := newRig(t, Options{Instance: "mine", At: &Placement{Node: "n"}}, other, us)
	if err := r.CCM(t.Context(), CCM{Config: conf(), Image: "localhost/ccm:1"}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.VCenters(t.Context(), []Endpoint{{Name: "us", Addr: netip.MustParseAddrPort("10.0.0.1:8989")}}); err != nil {
		t.Fatal(err)
	}
	made := 0
	for _, kind := range r.kinds() {
		m, err := r.mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			t.Fatal(err)
		}
		list, err := r.dyn.Resource(m.Resource).List(t.Context(), metav1.ListOptions{LabelSelector: selectOurs})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Items {
			if made++; o.GetName() != "other" && o.GetLabels()[InstanceLabel] != "mine" {
				t.Errorf("%s %s: labels %v", kind.Kind, o.GetName(), o.GetLabels())
			}
		}
	}
	if made < 8 {
		t.Errorf("%d objects", made)
	}
	if err := r.Remove(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if r.get(t, core("ConfigMap"), "kube-system", "other") == nil || r.get(t, core("Secret"), "kube-system", "vsphere-cloud-secret") != nil {
		t.Errorf("it did %q", r.did)
	}
}

func TestRemove(t *testing.T) {
	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "theirs", Namespace: "kube-system"}}
	r := deployed(t, theirs)
	if err := r.Remove(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	for _, kind := range kinds() {
		if list, err := r.marked(t.Context(), kind, ""); err != nil || len(list) > 0 {
			t.Errorf("%s: %d are left, %v", kind.Kind, len(list), err)
		}
	}
	if r.get(t, core("ConfigMap"), "kube-system", "theirs") == nil {
		t.Error("it removed what others have made")
	}
	order := func(prefix string) int {
		return slices.IndexFunc(r.did, func(d string) bool { return strings.HasPrefix(d, "delete "+prefix) })
	}
	for _, pair := range [][2]string{
		{"daemonsets", "clusterroles "},
		{"deployments", "configmaps"},
		{"serviceaccounts", "customresourcedefinitions"},
		{"volumesnapshotclasses", "customresourcedefinitions"},
		{"customresourcedefinitions", "namespaces"},
	} {
		if a, b := order(pair[0]), order(pair[1]); a < 0 || b < a {
			t.Errorf("%s is %d, %s is %d: %q", pair[0], a, pair[1], b, r.did)
		}
	}
	if err := r.Remove(t.Context(), false); err != nil {
		t.Errorf("a second time: %v", err)
	}
}

func volume(name, driver string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: []string{"external-attacher/csi-vsphere-vmware-com"}},
		Spec: corev1.PersistentVolumeSpec{
			ClaimRef:               &corev1.ObjectReference{Namespace: "default", Name: "data"},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: driver}},
		},
	}
}

// Volumes have the user's data, and without a driver they would never be deleted.
func TestRemoveWithVolumes(t *testing.T) {
	attachment := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "va"}, Spec: storagev1.VolumeAttachmentSpec{Attacher: "csi.vsphere.vmware.com"}}
	content := bare("snapshot.storage.k8s.io/v1", "VolumeSnapshotContent", "", "content")
	_ = unstructured.SetNestedField(content.Object, "csi.vsphere.vmware.com", "spec", "driver")
	_ = unstructured.SetNestedStringMap(content.Object, map[string]string{"namespace": "default", "name": "snap"}, "spec", "volumeSnapshotRef")
	snapshot := bare("snapshot.storage.k8s.io/v1", "VolumeSnapshot", "default", "snap")
	r := deployed(t, volume("pvc-1", "csi.vsphere.vmware.com"), volume("pvc-2", "another"), attachment, content, snapshot)
	err := r.Remove(t.Context(), false)
	volumes := (*VolumesError)(nil)
	if !errors.As(err, &volumes) || !slices.Equal(volumes.Volumes, []string{"pvc-1 (claim default/data)"}) {
		t.Fatalf("error is %v", err)
	}
	if len(r.did) > 0 {
		t.Errorf("it did %q", r.did)
	}
	if err := r.Remove(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"delete persistentvolumes pvc-1", "delete volumeattachments va", "delete volumesnapshotcontents content", "delete volumesnapshots default/snap"} {
		if !slices.Contains(r.did, d) {
			t.Errorf("not done: %s: %q", d, r.did)
		}
	}
	if slices.Contains(r.did, "delete persistentvolumes pvc-2") {
		t.Error("it deleted another driver's volume")
	}
}

// What others have made of our definitions, or in our namespaces, is theirs.
func TestRemoveLeavesOthers(t *testing.T) {
	snapshot := bare("snapshot.storage.k8s.io/v1", "VolumeSnapshot", "default", "snap")
	r := deployed(t, snapshot, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "vmware-system-csi"}})
	crd := r.get(t, apiextensions(), "", "volumesnapshots.snapshot.storage.k8s.io")
	if crd == nil {
		t.Fatal("no definition")
	}
	err := r.Remove(t.Context(), false)
	if err == nil || !strings.Contains(err.Error(), "volumesnapshot default/snap") || !strings.Contains(err.Error(), "pod p in it") {
		t.Errorf("error is %v", err)
	}
	if r.get(t, apiextensions(), "", "volumesnapshots.snapshot.storage.k8s.io") == nil {
		t.Error("the definition is gone, and with it the snapshot")
	}
}

func TestForeign(t *testing.T) {
	pod := func(name, namespace string, labels map[string]string, c corev1.Container) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{c}}}
	}
	holder, seconds, now := "aws-1", int32(15), metav1.NewMicroTime(time.Now())
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "cloud-controller-manager", Namespace: "kube-system"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &now},
	}
	stale := lease.DeepCopy()
	past := metav1.NewMicroTime(time.Now().Add(-time.Hour))
	stale.Spec.RenewTime = &past
	for _, tc := range []struct {
		name  string
		there []runtime.Object
		want  string
	}{
		{"none", []runtime.Object{
			pod("kcm", "kube-system", map[string]string{"component": "kube-controller-manager"}, corev1.Container{
				Name: "kube-controller-manager", Image: "registry.k8s.io/kube-controller-manager:v1", Command: []string{"kube-controller-manager", "--cloud-provider=external"},
			}),
			pod("web", "default", nil, corev1.Container{Name: "web", Image: "nginx"}),
		}, ""},
		{"ours", []runtime.Object{daemonSetOf(ccmName, partCCM, 1, 1), func() *corev1.Pod {
			p := podOn("p", ccmName, "cp", running("1", true))
			p.Spec.Containers[0].Image = "localhost/vsphere-cloud-controller-manager:1"
			return p
		}(), lease}, ""},
		{
			"by its image",
			[]runtime.Object{pod("x", "clouds", nil, corev1.Container{Name: "main", Image: "registry.k8s.io/cloud-pv-vsphere/cloud-provider-vsphere:v1.36.0"})},
			"cloud controller manager registry.k8s.io/cloud-pv-vsphere/cloud-provider-vsphere:v1.36.0 (pod clouds/x)",
		},
		{
			"by its flags",
			[]runtime.Object{pod("x", "kube-system", nil, corev1.Container{Name: "main", Image: "i", Command: []string{"/bin/aws-cloud-controller-manager"}, Args: []string{"--cloud-provider=aws"}})},
			"cloud controller manager aws (pod kube-system/x)",
		},
		{
			"by its label",
			[]runtime.Object{pod("x", "kube-system", map[string]string{"k8s-app": "cloud-controller-manager"}, corev1.Container{Name: "main", Image: "i"})},
			"cloud controller manager i (pod kube-system/x)",
		},
		{"by its Lease", []runtime.Object{lease}, "cloud controller manager aws-1 (lease kube-system/cloud-controller-manager)"},
		{"a Lease that nobody holds", []runtime.Object{stale}, ""},
		{
			"a driver",
			[]runtime.Object{&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "csi.vsphere.vmware.com"}}},
			"vSphere CSI driver csi.vsphere.vmware.com (csidriver csi.vsphere.vmware.com)",
		},
		{"our driver", []runtime.Object{&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "csi.vsphere.vmware.com", Labels: map[string]string{ManagedByLabel: ManagedBy}}}}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			found, err := newRig(t, Options{}, tc.there...).Foreign(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var all []string
			for _, s := range found {
				all = append(all, s.String())
			}
			if got := strings.Join(all, "; "); got != tc.want {
				t.Errorf("found %q, want %q", got, tc.want)
			}
		})
	}
}
