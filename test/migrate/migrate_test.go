package migrate

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// TestMigration leads a cluster from before to after, and looks at what must not change on the way: the nodes, the volumes,
// the pods that have nothing to do with it, and the data.
func TestMigration(t *testing.T) {
	w := up(t, "single")
	old, password := w.configure()
	w.disk()
	manifest, err := os.ReadFile("testdata/before.yaml")
	if err != nil {
		t.Fatal(err)
	}
	w.apply(string(manifest))
	w.await("the old volume is bound, and the bystanders run", func() string {
		out := w.kubectl("get", "pvc", "shop", "-o", "jsonpath={.status.phase}") + w.kubectl("get", "deploy", "bystander", "-o", "jsonpath={.status.readyReplicas}")
		if out != "Bound2" {
			return out
		}
		return ""
	})
	was := w.identity()

	w.check()
	files := w.convert(old, password)
	ccm, logged, begin := w.component("ccm"), len(w.log("ccm")), w.last()
	w.kubectl("apply", "-f", filepath.Join(files, "secret-vsphere-cloud-secret.yaml"), "-f", filepath.Join(files, "configmap.yaml"))
	w.happened(begin, "ccm.config-reloaded")
	w.same("with the new vsphere.conf", was)

	w.kubectl("scale", "deploy", "shop", "--replicas=1")
	first := w.running("shop", "")
	if got := w.read("shop", "orders"); got != orders {
		t.Errorf("after the migration the volume has %q", got)
	}
	w.write("shop", "later", "4713: a lamp\n")
	w.migrated(first)
	id := w.record()
	w.same("with a pod on the old volume", was)
	if now := w.component("ccm"); now.PID != ccm.PID {
		t.Errorf("the cloud controller manager is process %d, was %d", now.PID, ccm.PID)
	}
	w.quiet("ccm", logged)

	// The driver is killed while the pod goes to the other node, whose VM then dies.
	other := map[string]string{"worker-1": "worker-2", "worker-2": "worker-1"}[first]
	if err := syscall.Kill(w.component("csi-controller").PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	w.kubectl("cordon", first)
	w.kubectl("delete", "pod", "-l", "app=shop")
	w.running("shop", other)
	w.kubectl("uncordon", first)
	w.intact("on the other node")
	w.run("vm", "power-off", other)
	w.await("node "+other+" is lost", func() string {
		if ready := w.kubectl("get", "node", other, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status}`); ready == "True" {
			return "still ready"
		}
		return ""
	})
	w.run("taint", "out-of-service", other)
	w.running("shop", first)
	w.intact("after its VM was powered off")
	if again := w.record(); again != id {
		t.Errorf("the disk is volume %s, was %s", again, id)
	}

	t.Run("class", func(t *testing.T) { w.with(t).class() })
	t.Run("grown", func(t *testing.T) { w.with(t).grown() })
}

// with is the world for a part of the test.
func (w *world) with(t *testing.T) *world {
	part := *w
	part.T = t
	return &part
}

// check runs migrate check, which has nothing to complain of that keeps the migration from being done: it would not end with 0.
func (w *world) check() {
	w.Helper()
	var report struct{ InTree bool }
	if err := json.Unmarshal([]byte(w.run("migrate", "check", "-o", "json")), &report); err != nil {
		w.Fatal(err)
	}
	if !report.InTree {
		w.Error("migrate check has not seen that there is something of the in-tree provider")
	}
}

// convert runs migrate config, and returns the folder of what it writes.
func (w *world) convert(old, password string) string {
	w.Helper()
	out := filepath.Join(w.state, "new")
	said := w.run("migrate", "config", old, "--out", out)
	if strings.Contains(said, password) {
		w.Error("migrate config prints the password")
	}
	conf, err := os.ReadFile(filepath.Join(out, "vsphere.conf"))
	if err != nil || strings.Contains(string(conf), password) {
		w.Errorf("new vsphere.conf: %v\n%s", err, conf)
	}
	w.run("config", "validate", filepath.Join(out, "vsphere.conf"))
	plan := w.run("migrate", "plan", old)
	if strings.Contains(plan, password) {
		w.Error("migrate plan prints the password")
	}
	return out
}

// running waits for the pod of a Deployment to have its volume, on a node (any, for ""), and returns the node.
func (w *world) running(app, node string) (on string) {
	w.Helper()
	w.await(app+" runs on "+node, func() string {
		out := w.run("get", "volumes", "--no-headers", app)
		if !strings.Contains(out, " in-use ") {
			return out
		}
		for _, n := range []string{"worker-1", "worker-2"} {
			if f := strings.Fields(out); len(f) > 3 && f[3] == n {
				on = n
			}
		}
		if node != "" && on != node {
			return out
		}
		return ""
	})
	return on
}

// migrated fails unless Kubernetes has handed the volume to the CSI driver, as it does, and kept its object.
func (w *world) migrated(node string) {
	w.Helper()
	n := object[storagev1.CSINode](w, "get", "csinode", node)
	if plugins := n.Annotations["storage.alpha.kubernetes.io/migrated-plugins"]; !strings.Contains(plugins, "kubernetes.io/vsphere-volume") {
		w.Errorf("CSINode %s says that %q are migrated", node, plugins)
	}
	if v := object[corev1.PersistentVolume](w, "get", "pv", "shop"); v.Spec.VsphereVolume == nil || v.Spec.VsphereVolume.VolumePath != path {
		w.Errorf("PersistentVolume: %+v", v.Spec.PersistentVolumeSource)
	}
	all := object[storagev1.VolumeAttachmentList](w, "get", "volumeattachments").Items
	if len(all) != 1 || all[0].Spec.Attacher != "csi.vsphere.vmware.com" || !all[0].Status.Attached {
		w.Errorf("attachments: %+v", all)
	}
}

// record returns the volume that the disk has become, of which there is one.
func (w *world) record() string {
	w.Helper()
	var list struct {
		Items []struct {
			Spec struct{ VolumeID, VolumePath string }
		}
	}
	if err := json.Unmarshal([]byte(w.kubectl("get", "cnsvspherevolumemigrations", "-o", "json")), &list); err != nil {
		w.Fatal(err)
	}
	if len(list.Items) != 1 || list.Items[0].Spec.VolumePath != path {
		w.Fatalf("records: %+v", list.Items)
	}
	return list.Items[0].Spec.VolumeID
}

// intact fails unless the data is all there.
func (w *world) intact(when string) {
	w.Helper()
	if got := w.read("shop", "orders"); got != orders {
		w.Errorf("%s the volume has %q", when, got)
	}
	if got := w.read("shop", "later"); got != "4713: a lamp\n" {
		w.Errorf("%s the volume has %q of what was written after the migration", when, got)
	}
}
