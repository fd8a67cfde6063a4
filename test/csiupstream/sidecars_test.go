package csiupstream

import (
	"os"
	"path/filepath"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/objects"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// sidecars runs the stock sidecars beside the driver, with the flags of upstream's manifest and with topology; the
// attacher compares what it knows with what the driver lists every ten seconds, and not every minute.
func (w *world) sidecars() {
	w.t.Helper()
	root, err := program.Root()
	if err != nil {
		w.t.Fatal(err)
	}
	path := os.Getenv("CSI_SIDECARS_BIN")
	if path == "" {
		path = filepath.Join(root, "bin", "csi-sidecars")
	}
	if _, err := os.Stat(path); err != nil {
		w.t.Fatalf("no sidecars: %v (make build)", err)
	}
	all, err := objects.Definitions()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, crd := range all {
		if !strings.HasSuffix(crd.GetName(), ".snapshot.storage.k8s.io") {
			continue
		}
		if _, err := w.dynamic.Resource(definitions).Create(w.t.Context(), crd, metav1.CreateOptions{}); err != nil {
			w.t.Fatal(err)
		}
	}
	of := []string{"--kubeconfig=" + w.Cluster.Kubeconfig(), "--csi-address=" + w.socket, "--timeout=300s", "--v=2"}
	w.run("csi-provisioner", path, append([]string{"csi-provisioner", "--default-fstype=ext4", "--feature-gates=Topology=true", "--strict-topology"}, of...), nil)
	w.run("csi-attacher", path, append([]string{"csi-attacher", "--reconcile-sync=10s"}, of...), nil)
	w.run("csi-resizer", path, append([]string{"csi-resizer"}, of...), nil)
	w.run("csi-snapshotter", path, append([]string{"csi-snapshotter"}, of...), nil)
	w.run("snapshot-controller", path, []string{"snapshot-controller", "--kubeconfig=" + w.Cluster.Kubeconfig(), "--v=2"}, nil)
}
