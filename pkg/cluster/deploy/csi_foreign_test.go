package deploy

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// driver is a manifest in the shape of upstream's: a controller that reads a Secret of the user, nodes, and Windows.
const driver = `
apiVersion: v1
kind: Namespace
metadata: {name: vmware-system-csi}
---
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: {name: csi.vsphere.vmware.com}
spec: {attachRequired: true}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: vsphere-csi-controller, namespace: vmware-system-csi}
spec:
  replicas: 3
  selector: {matchLabels: {app: controller}}
  template:
    metadata: {labels: {app: controller}}
    spec:
      containers:
        - {name: csi-attacher, image: "registry.example.net/attacher:v1", args: ["--csi-address=$(ADDRESS)"]}
        - name: vsphere-csi-controller
          image: registry.example.net/driver:v1
          env: [{name: VSPHERE_CSI_CONFIG, value: /etc/cloud/csi-vsphere.conf}]
          volumeMounts: [{name: config, mountPath: /etc/cloud, readOnly: true}]
      volumes: [{name: config, secret: {secretName: vsphere-config-secret}}]
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: vsphere-csi-node-windows, namespace: vmware-system-csi}
spec:
  selector: {matchLabels: {app: windows}}
  template:
    metadata: {labels: {app: windows}}
    spec:
      nodeSelector: {kubernetes.io/os: windows}
      containers: [{name: node, image: "registry.example.net/driver:v1"}]
`

// manifests are the above, and upstream's own where this machine has its module.
func manifestsOfDrivers(t *testing.T) map[string]string {
	all := map[string]string{"sample": driver}
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE").Output()
	if err != nil {
		return all
	}
	dir := filepath.Join(strings.TrimSpace(string(out)), "sigs.k8s.io", "vsphere-csi-driver", "v3@v3.7.0", "manifests", "vanilla")
	namespace, err := os.ReadFile(filepath.Join(dir, "namespace.yaml"))
	if err != nil {
		return all
	}
	if text, err := os.ReadFile(filepath.Join(dir, "vsphere-csi-driver.yaml")); err == nil {
		all["v3.7.0"] = string(namespace) + "\n---\n" + string(text)
	}
	return all
}

// asJSON is a value as JSON has it: of numbers there is one kind.
func asJSON(t *testing.T, v any) (same any) {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &same); err != nil {
		t.Fatal(err)
	}
	return same
}

// Another project's driver is applied unchanged, is configured by one Secret, and gets what volumes and snapshots need
// but no driver brings.
func TestForeignCSI(t *testing.T) {
	for name, manifest := range manifestsOfDrivers(t) {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Options{})
			c := CSI{Config: conf(), Manifest: []byte(manifest), Sidecars: "localhost/csi-sidecars:1", Policies: []string{"Gold"}}
			if err := r.CSI(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			secret := r.get(t, core("Secret"), "vmware-system-csi", "vsphere-config-secret")
			data, _, _ := unstructured.NestedMap(secret.Object, "data")
			// "ca /etc/cloud/vcenter-ca.crt secret /": the file itself has the credentials.
			want := map[string]any{"csi-vsphere.conf": "Y2EgL2V0Yy9jbG91ZC92Y2VudGVyLWNhLmNydCBzZWNyZXQgLw==", "vcenter-ca.crt": "UEVN"}
			if diff := cmp.Diff(want, data); diff != "" {
				t.Error(diff)
			}
			given, err := parse(name, []byte(manifest))
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range given {
				if isWorkload(o) {
					applied := r.get(t, apps(o.GetKind()), o.GetNamespace(), o.GetName())
					if diff := cmp.Diff(asJSON(t, o.Object["spec"]), asJSON(t, applied.Object["spec"])); diff != "" {
						t.Errorf("%s is another (-given +applied):\n%s", title(o), diff)
					}
				}
			}
			class := schema.GroupVersionKind{Group: "storage.k8s.io", Version: "v1", Kind: "StorageClass"}
			for _, name := range []string{"vsphere", "vsphere-immediate", "vsphere-gold"} {
				r.get(t, class, "", name)
			}
			r.get(t, apiextensions(), "", "volumesnapshots.snapshot.storage.k8s.io")
			r.get(t, apps("Deployment"), "vmware-system-csi", "snapshot-controller")
			if slices.Contains(r.did, "patch daemonsets vmware-system-csi/vsphere-csi-node") && name == "sample" {
				t.Errorf("the sandbox's own is there as well: %q", r.did)
			}
			if err := r.ConfigureCSI(t.Context(), Config{Conf: func(ConfigLocation) ([]byte, error) { return []byte("b"), nil }}); err != nil {
				t.Fatal(err)
			}
			secret = r.get(t, core("Secret"), "vmware-system-csi", "vsphere-config-secret")
			if text, _, _ := unstructured.NestedString(secret.Object, "data", "csi-vsphere.conf"); text != "Yg==" {
				t.Errorf("configured anew it is %q", text)
			}
		})
	}
}

// A Deployment with anti-affinity is ready when as many pods run as there are nodes for; nodes of another system do not
// count.
func TestSpares(t *testing.T) {
	pod := func(name string, scheduled, ready corev1.ConditionStatus) *corev1.Pod {
		p := podOn(name, "x", "", running("1", ready == corev1.ConditionTrue))
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
			{TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels}},
		}}}
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: scheduled}, {Type: corev1.PodReady, Status: ready}}
		return p
	}
	first, second, third := pod("a", corev1.ConditionTrue, corev1.ConditionTrue), pod("b", corev1.ConditionFalse, corev1.ConditionFalse), pod("c", corev1.ConditionFalse, corev1.ConditionFalse)
	w := workload{kind: "Deployment", observed: true, want: 3, updated: 3, ready: 1, pods: []*corev1.Pod{first, second, third}}
	if !w.done() || w.spares() != 2 {
		t.Errorf("%d spares, done %t", w.spares(), w.done())
	}
	first.Status.Conditions[1].Status, w.ready = corev1.ConditionFalse, 0
	if w.done() || w.spares() != 0 {
		t.Errorf("none is ready: %d spares, done %t", w.spares(), w.done())
	}
	w = workload{kind: "DaemonSet", observed: true, want: 2, updated: 2, ready: 1, noVMs: map[string]bool{"kind": true}, pods: []*corev1.Pod{
		podOn("a", "x", "vm", running("1", true)), podOn("b", "x", "kind", crashing(9)),
	}}
	if !w.done() || len(reasons([]workload{w}, true)) > 0 {
		t.Errorf("a node that is no VM is waited for: %v", reasons([]workload{w}, true))
	}
	if w.noVMs = nil; w.done() {
		t.Error("a node that is a VM is not")
	}
	set := daemonSetOf("w", partCSI, 0, 0)
	set.Spec.Template.Spec.NodeSelector = map[string]string{corev1.LabelOSStable: "windows"}
	if !daemonSet(set).done() || daemonSet(&appsv1.DaemonSet{}).done() {
		t.Error("nodes of another system are waited for")
	}
}
